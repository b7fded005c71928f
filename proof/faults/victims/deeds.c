/* Cancellation, exits, forks and signals: see deeds.h. */
#include "deeds.h"

static uint32_t seed = 4711;

void cancel_threads(void)
{
    while (going()) {
        int slot = chance(&seed) % threads;
        void *result;
        nap_us(chance(&seed) % 400);
        EXPECT(pthread_cancel(ids[slot]), 0);
        EXPECT(pthread_join(ids[slot], &result), 0);
        if (result == PTHREAD_CANCELED)
            atomic_fetch_add(&board->tries, 1);
        else if (going())
            WRONG("a cancelled thread ended with %p", result);
        if (!start(slot))
            WRONG("no thread could be started");
    }
}

void replace_the_gone(void)
{
    while (going()) {
        for (int i = 0; i < threads; i++)
            if (atomic_load(&board->line[i].gone)) {
                EXPECT(pthread_join(ids[i], NULL), 0);
                if (!start(i))
                    WRONG("no thread could be started");
            }
        nap_us(200);
    }
}

/* Forks. What the forking thread knows of the lock at that moment, and so what the child may expect. */
enum state { FREE_OR_OTHERS, MINE, MINE_WITH_SPINNERS, MINE_WITH_SLEEPERS, MINE_CLAIMED, OTHERS, WAYS };

static struct board childs;
enum { CHILDS_UPDATES = 20 };

static void *childs_work(void *slot)
{
    self = (int)(intptr_t)slot;
    for (int i = 0; i < CHILDS_UPDATES; i++) {
        kind->enter(self);
        begin(self);
        sched_yield();
        end();
        kind->leave(self);
    }
    return NULL;
}

/* The lock is the child's: two threads use it. */
static void use_freely(void)
{
    pthread_t both[2];
    uint64_t before = pair.first;
    for (int i = 0; i < 2; i++)
        EXPECT(pthread_create(&both[i], NULL, childs_work, (void *)(intptr_t)i), 0);
    for (int i = 0; i < 2; i++)
        EXPECT(pthread_join(both[i], NULL), 0);
    if (pair.first != before + 2 * CHILDS_UPDATES || pair.second != pair.first)
        WRONG("a child has %ld updates, not %d", (long)(pair.first - before), 2 * CHILDS_UPDATES);
}

/* Says by its exit status which state it found. */
static void child(int way)
{
    int others = pair.inside && way == FREE_OR_OTHERS;
    board = &childs;
    struct timespec soon = in_us(20000);
    if (way != FREE_OR_OTHERS) {
        end();
        kind->leave(self);
        use_freely();
    } else if (others) {
        if (kind->try())
            WRONG("a child took the lock of a thread that it does not have");
        else if (kind->until && kind->until(&soon) != ETIMEDOUT)
            WRONG("a child's wait for the lock of a thread that it does not have did not time out");
    } else if (kind->until ? kind->until(&soon) == 0 : kind->try()) {
        kind->leave(self);
        use_freely();
    } else {
        others = 1; /* it was about to enter, or about to leave */
    }
    _exit(atomic_load(&childs.broken) ? 1 : others ? 10 + OTHERS : 10 + way);
}

static void await(pid_t pid)
{
    int status;
    for (int64_t begun = now_us(); waitpid(pid, &status, WNOHANG) == 0; nap_us(200))
        if (now_us() - begun > 10000000) {
            fprintf(stderr, "a forked child hangs: %d\n", (int)pid);
            atomic_fetch_add(&board->hangs, 1);
            kill(pid, SIGKILL);
        }
    int state = WIFEXITED(status) ? WEXITSTATUS(status) - 10 : -1;
    if (state >= 0 && state < WAYS)
        atomic_fetch_add(&board->states[state], 1);
    else
        WRONG("a child ended with status %#x", status);
}

/* Only our mutex says so in its word, and that of another policy may have the bit by chance. */
static int is_claimed(void)
{
    uint32_t word;
    memcpy(&word, &mutex, sizeof(word));
    return word >> 31;
}

static void acquire_some_way(int way)
{
    if (way == FREE_OR_OTHERS) {
        for (int i = 0; i < 1000 && chance(&seed) % 2 && atomic_load(&board->holder); i++)
            sched_yield();
        return;
    }
    kind->enter(self);
    begin(self);
    if (way == MINE)
        return;
    nap_us(way == MINE_WITH_SPINNERS ? 5 : 3000);
    for (int i = 0; way == MINE_CLAIMED && i < 8 && !is_claimed(); i++) {
        nap_us(2000);
        end();
        kind->leave(self);
        kind->enter(self);
        begin(self);
    }
}

void fork_children(void)
{
    self = threads; /* a slot of its own */
    for (int number = 0; going(); number++) {
        int way = number % 2 ? FREE_OR_OTHERS : MINE + number / 2 % 4;
        acquire_some_way(way);
        pid_t pid = fork();
        if (pid == 0)
            child(way);
        if (pid < 0)
            WRONG("fork: %s", strerror(errno));
        if (way != FREE_OR_OTHERS) {
            end();
            kind->leave(self);
        }
        if (pid > 0)
            await(pid);
        atomic_fetch_add(&board->tries, 1);
    }
}

/* A storm of signals. The handler tries the lock, takes another one, and posts a semaphore. */
static pthread_mutex_t handlers = PTHREAD_MUTEX_INITIALIZER;
static struct pair in_handlers;
static _Atomic uint64_t handled;
static sem_t posted;

static void handler(int signal)
{
    (void)signal;
    int before = errno;
    if (self >= 0 && kind->try && kind->try()) {
        begin(self);
        end();
        kind->leave(self);
        atomic_fetch_add(&board->states[0], 1);
    }
    EXPECT(pthread_mutex_lock(&handlers), 0);
    in_handlers.first++;
    in_handlers.second++;
    EXPECT(pthread_mutex_unlock(&handlers), 0);
    EXPECT(sem_post(&posted), 0);
    atomic_fetch_add(&handled, 1);
    errno = before;
}

void storm_begins(void)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask); /* neither interrupts the other, which may have the handlers' lock */
    sigaddset(&action.sa_mask, SIGUSR1);
    sigaddset(&action.sa_mask, SIGUSR2);
    EXPECT(sigaction(SIGUSR1, &action, NULL), 0);
    action.sa_flags = 0;
    EXPECT(sigaction(SIGUSR2, &action, NULL), 0);
    EXPECT(sem_init(&posted, 0, 0), 0);
}

void storm(void)
{
    while (going()) {
        for (int i = 0; i < 8; i++) {
            int slot = chance(&seed) % threads;
            pid_t tid = atomic_load(&board->line[slot].tid);
            if (tid && syscall(SYS_tgkill, getpid(), tid, chance(&seed) % 2 ? SIGUSR1 : SIGUSR2) == 0)
                atomic_fetch_add(&board->tries, 1);
        }
        nap_us(chance(&seed) % 200);
    }
    await_all();
    uint64_t runs = atomic_load(&handled);
    int count;
    EXPECT(sem_getvalue(&posted, &count), 0);
    if (in_handlers.first != runs || in_handlers.second != runs || (uint64_t)count != runs)
        WRONG("handlers ran %lu times, counted %lu, posted %d", runs, in_handlers.first, count);
}
