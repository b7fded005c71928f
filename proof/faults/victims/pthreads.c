/* Threads of one process that fight over a lock, and what befalls them.
   Arguments: the board's descriptor, the kind of lock, the deed, the number of threads. */
#include "deeds.h"

struct board *board;
const struct kind *kind;
int threads;
pthread_t ids[THREADS];
_Thread_local int self = -1;
static int quiet;             /* no system calls but those of locks */
static int lingers;           /* some sections are long, so that forks find the lock taken */
static _Thread_local uint32_t seed;
static _Thread_local int dying; /* holding the lock */
static uint32_t dies_holding; /* in one of so many sections; 0: never */

static void finish(void *unused)
{
    (void)unused;
    if (dying)
        return;
    end();
    kind->leave(self);
}

static void over(void *unused)
{
    (void)unused;
    atomic_store(&board->line[self].tid, 0);
    atomic_store(&board->line[self].gone, 1);
}

/* Lets others come and find the lock taken. */
static void linger(void)
{
    if (!quiet)
        sched_yield();
    for (int i = 0; quiet && i < 100000; i++)
        __asm__ volatile("");
}

static void *work(void *slot)
{
    self = (int)(intptr_t)slot;
    seed = 2 * self + 77;
    atomic_store(&board->line[self].tid, quiet ? self + 1 : syscall(SYS_gettid));
    pthread_cleanup_push(over, NULL);
    while (going()) {
        kind->enter(self);
        begin(self);
        pthread_cleanup_push(finish, NULL);
        uint32_t luck = chance(&seed);
        if (luck % 16 == 0)
            pthread_testcancel();
        for (uint32_t i = luck % 64; i > 0; i--)
            __asm__ volatile("");
        if (luck % 1024 == 1)
            linger();
        if (lingers && luck % 32 == 3)
            nap_us(100);
        if (dies_holding && luck % dies_holding == 2) {
            atomic_fetch_add(&board->tries, 1);
            dying = 1;
            pthread_exit(NULL);
        }
        pthread_cleanup_pop(1);
        pthread_testcancel();
    }
    pthread_cleanup_pop(1);
    return NULL;
}

int start(int slot)
{
    atomic_store(&board->line[slot].gone, 0);
    return pthread_create(&ids[slot], NULL, work, (void *)(intptr_t)slot) == 0;
}

/* A thread that could not be had is one less. */
static void start_all(void)
{
    int missing = 0;
    for (int i = 0; i < threads; i++)
        if (!start(i)) {
            missing++;
            atomic_store(&board->line[i].gone, 1);
        }
    if (missing == threads) {
        fputs("no thread could be started\n", stderr);
        _exit(3);
    }
}

void await_all(void)
{
    for (int i = 0; i < threads; i++)
        while (!atomic_load(&board->line[i].gone)) {
            kinds_stir();
            rest_us(500);
        }
    kinds_repair();
}

int main(int argc, char **argv)
{
    if (argc != 5)
        return 2;
    board = board_of(argv[1]);
    kind = kind_of(argv[2]);
    threads = atoi(argv[4]);
    kinds_start(argv[2], threads);
    const char *deed = argv[3];
    quiet = is_filtered(deed);
    if (quiet)
        filter_first(argv);
    if (strcmp(deed, "exit") == 0)
        dies_holding = 256;
    lingers = strcmp(deed, "fork") == 0;
    if (strcmp(deed, "storm") == 0)
        storm_begins();
    start_all();
    if (strcmp(deed, "cancel") == 0)
        cancel_threads();
    else if (strcmp(deed, "exit") == 0)
        replace_the_gone();
    else if (strcmp(deed, "fork") == 0)
        fork_children();
    else if (strcmp(deed, "storm") == 0)
        storm();
    else if (strcmp(deed, "steps") == 0 && step_clock)
        step_clock();
    else if (quiet)
        filter_while_they_fight();
    while (going())
        rest_us(1000);
    await_all();
    board->first = pair.first;
    board->second = pair.second;
    atomic_store(&board->finished, 1);
    _exit(0);
}
