/* Processes that share a lock, and what befalls them.
   Arguments: the board's descriptor, the kind of lock (shared, robust, shared-cond, robust-cond), the deed (none, stop,
   kill, kill-waiter), the number of processes. */
#include "board.h"
#include <sys/prctl.h>

struct board *board;

/* In the board, which all processes map. */
struct shared {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    uint64_t first;
    char gap[128];
    uint64_t second;
};

static struct shared *shared;
static pid_t pids[64];
static int processes, robust, waits;
static uint32_t seed = 99;

static uint64_t said(void)
{
    uint64_t sum = atomic_load(&board->extra);
    for (int i = 0; i < processes; i++)
        sum += atomic_load(&board->line[i].done);
    return sum;
}

/* The dead may have counted an update without saying so, or have left it half done: one at most. */
static void repair(void)
{
    uint64_t sum = said();
    if (shared->first - sum > 1 || shared->first - shared->second > 1)
        WRONG("a dead owner left %lu and %lu after %lu updates", shared->first, shared->second, sum);
    atomic_fetch_add(&board->extra, shared->first - sum);
    shared->second = shared->first;
    EXPECT(pthread_mutex_consistent(&shared->mutex), 0);
    atomic_fetch_add(&board->states[0], 1);
}

static void has(int answer)
{
    if (answer == EOWNERDEAD && robust)
        repair();
    else if (answer != 0 && answer != ETIMEDOUT)
        WRONG("a lock or a wait answers %d", answer);
}

static void update(int me)
{
    has(pthread_mutex_lock(&shared->mutex));
    if (waits && chance(&seed) % 4 == 0) {
        struct timespec soon = in_us(2000); /* the one who would signal may be dead */
        has(pthread_cond_timedwait(&shared->changed, &shared->mutex, &soon));
    }
    if (shared->first != shared->second)
        atomic_fetch_add(&board->broken, 1);
    atomic_store(&board->holder, getpid());
    shared->first++;
    for (uint32_t i = chance(&seed) % 64; i > 0; i--)
        __asm__ volatile("");
    if (chance(&seed) % 256 == 0)
        sched_yield();
    atomic_fetch_add(&board->line[me].done, 1);
    shared->second++;
    atomic_store(&board->holder, 0);
    if (waits)
        EXPECT(pthread_cond_signal(&shared->changed), 0);
    EXPECT(pthread_mutex_unlock(&shared->mutex), 0);
}

static void run(int me)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    seed += 2 * me + getpid();
    while (going())
        update(me);
    _exit(0);
}

static void start(int slot)
{
    pids[slot] = fork();
    if (pids[slot] == 0)
        run(slot);
    if (pids[slot] < 0)
        WRONG("fork: %s", strerror(errno));
    atomic_store(&board->line[slot].tid, pids[slot]);
}

static void stop_one(int slot)
{
    kill(pids[slot], SIGSTOP);
    nap_us(chance(&seed) % 20000);
    kill(pids[slot], SIGCONT);
}

static void bury(int slot)
{
    kill(pids[slot], SIGKILL);
    waitpid(pids[slot], NULL, 0);
}

/* With a mutex that is not robust only those may die who do not have it: the parent has it, so the slot's process
   waits, or is about to. */
static void kill_waiter(int slot)
{
    EXPECT(pthread_mutex_lock(&shared->mutex), 0);
    nap_us(chance(&seed) % 2000);
    bury(slot);
    EXPECT(pthread_mutex_unlock(&shared->mutex), 0);
}

static void misfortunes(const char *deed)
{
    while (going()) {
        int slot = chance(&seed) % processes;
        nap_us(chance(&seed) % 1000);
        if (strcmp(deed, "stop") == 0) {
            stop_one(slot);
        } else {
            strcmp(deed, "kill") == 0 ? bury(slot) : kill_waiter(slot);
            start(slot);
        }
        atomic_fetch_add(&board->tries, 1);
    }
}

static void make(void)
{
    pthread_mutexattr_t mutex;
    pthread_condattr_t cond;
    EXPECT(pthread_mutexattr_init(&mutex), 0);
    EXPECT(pthread_mutexattr_setpshared(&mutex, PTHREAD_PROCESS_SHARED), 0);
    if (robust)
        EXPECT(pthread_mutexattr_setrobust(&mutex, PTHREAD_MUTEX_ROBUST), 0);
    EXPECT(pthread_condattr_init(&cond), 0);
    EXPECT(pthread_condattr_setpshared(&cond, PTHREAD_PROCESS_SHARED), 0);
    EXPECT(pthread_mutex_init(&shared->mutex, &mutex), 0);
    EXPECT(pthread_cond_init(&shared->changed, &cond), 0);
}

int main(int argc, char **argv)
{
    if (argc != 5)
        return 2;
    board = board_of(argv[1]);
    shared = (struct shared *)board->locks;
    processes = atoi(argv[4]);
    robust = strncmp(argv[2], "robust", 6) == 0;
    waits = strstr(argv[2], "cond") != NULL;
    make();
    for (int i = 0; i < processes; i++)
        start(i);
    if (strcmp(argv[3], "none") == 0)
        while (going())
            nap_us(1000);
    else
        misfortunes(argv[3]);
    for (int i = 0; i < processes; i++)
        while (waitpid(pids[i], NULL, WNOHANG) == 0)
            nap_us(500);
    if (robust && pthread_mutex_lock(&shared->mutex) == EOWNERDEAD)
        repair();
    board->first = shared->first;
    board->second = shared->second;
    atomic_store(&board->finished, 1);
    _exit(0);
}
