/* Spin locks, barriers, pthread_once: what each call answers. */
#include "conformance.h"

enum { PRIVATE, SHARED, COUNT };

/* A new lock on a cache line of its own. */
static void *make_spin(int sharing)
{
    static int used;
    static char *page;
    if (used % 64 == 0)
        page = shared_page();
    void *s = page + 64 * (used++ % 64);
    MUST(pthread_spin_init(s, sharing == SHARED ? PTHREAD_PROCESS_SHARED : PTHREAD_PROCESS_PRIVATE) == 0);
    return s;
}

static int spin_lock(void *s)
{
    return pthread_spin_lock(s);
}

static int spin_try(void *s)
{
    return pthread_spin_trylock(s);
}

static int spin_unlock(void *s)
{
    return pthread_spin_unlock(s);
}

static int spin_both(void *s)
{
    STEP(spin_lock(s));
    return spin_unlock(s);
}

static int spin_try_both(void *s)
{
    STEP(spin_try(s));
    return spin_unlock(s);
}

SENTENCE(spin_init_makes_it_free, 0, "A spin lock is free after init.")
{
    return spin_try_both(make_spin(variant));
}

SENTENCE(spin_lock_takes_a_free_lock, 0, "A free lock is taken, and free again after unlock.")
{
    void *s = make_spin(variant);
    STEP(spin_both(s));
    return elsewhere(spin_both, s);
}

SENTENCE(spin_try_of_a_taken_lock, EBUSY, "A try of a taken lock says so at once.")
{
    void *s = make_spin(variant);
    STEP(spin_lock(s));
    return elsewhere(spin_try, s);
}

SENTENCE(spin_try_of_ones_own, EBUSY, "Also to the owner.")
{
    void *s = make_spin(variant);
    STEP(spin_lock(s));
    return spin_try(s);
}

SENTENCE(spin_lock_waits, YES, "A lock call waits until the owner unlocks.")
{
    struct call c;
    void *s = make_spin(variant);
    STEP(spin_lock(s));
    int waited = waits(&c, spin_both, s);
    STEP(spin_unlock(s));
    STEP(end(&c));
    return yes_if(waited);
}

SENTENCE(spin_serves_every_waiter, 0, "However many wait, each gets the lock in the end.")
{
    struct call c[4];
    void *s = make_spin(variant);
    STEP(spin_lock(s));
    for (int i = 0; i < 4; i++)
        begin(&c[i], spin_both, s);
    sleep_ns(SOON);
    STEP(spin_unlock(s));
    for (int i = 0; i < 4; i++)
        STEP(end(&c[i]));
    return 0;
}

SENTENCE(spin_destroy, 0, "A free lock can be destroyed, and made again.")
{
    void *s = make_spin(variant);
    STEP(spin_both(s));
    STEP(pthread_spin_destroy(s));
    STEP(pthread_spin_init(s, variant == SHARED));
    return spin_try(s);
}

struct counted {
    void *lock;
    long count;
};

static int count_up(void *argument)
{
    struct counted *c = argument;
    for (int i = 0; i < 2000; i++) {
        STEP(spin_lock(c->lock));
        c->count++;
        STEP(spin_unlock(c->lock));
    }
    return 0;
}

SENTENCE(spin_admits_one_at_a_time, YES, "No two threads have it at once, and what one wrote the next sees.")
{
    struct counted counted = {make_spin(variant), 0};
    struct call c[4];
    for (int i = 0; i < 4; i++)
        begin(&c[i], count_up, &counted);
    for (int i = 0; i < 4; i++)
        STEP(end(&c[i]));
    return yes_if(counted.count == 8000);
}

SENTENCE(spin_between_processes, variant == SHARED ? EBUSY : SKIP, "Another process finds a shared lock taken.")
{
    void *s = make_spin(variant);
    STEP(in_child(spin_both, s));
    STEP(spin_lock(s));
    return in_child(spin_try, s);
}

static int handled;
static void count_signal(int signal)
{
    (void)signal;
    handled++;
}

SENTENCE(spin_wait_runs_handlers, YES, "A handler runs in a waiter, which then waits on.")
{
    struct call c;
    void *s = make_spin(variant);
    struct sigaction action = {.sa_handler = count_signal};
    MUST(sigaction(SIGUSR1, &action, NULL) == 0);
    handled = 0;
    STEP(spin_lock(s));
    int waited = waits(&c, spin_both, s);
    MUST(pthread_kill(c.thread, SIGUSR1) == 0);
    sleep_ns(SOON);
    waited &= !is_done(&c);
    STEP(spin_unlock(s));
    STEP(end(&c));
    return yes_if(waited && handled == 1);
}

SENTENCE(spin_errno_is_left_alone, 4711, "Errors are returned, not left in errno.")
{
    void *s = make_spin(variant);
    errno = 4711;
    STEP(spin_lock(s));
    if (spin_try(s) != EBUSY || spin_unlock(s) != 0)
        return NO;
    return errno;
}

static pthread_barrier_t *make_barrier(int sharing, unsigned count)
{
    pthread_barrierattr_t a;
    pthread_barrier_t *b = shared_page();
    MUST(pthread_barrierattr_init(&a) == 0);
    MUST(pthread_barrierattr_setpshared(&a, sharing == SHARED) == 0);
    MUST(pthread_barrier_init(b, &a, count) == 0);
    return b;
}

static int barrier_wait(void *b)
{
    return pthread_barrier_wait(b) == PTHREAD_BARRIER_SERIAL_THREAD ? 1 : 0;
}

SENTENCE(barrier_for_nobody, EINVAL, "A barrier needs at least one thread.")
{
    pthread_barrier_t b;
    return pthread_barrier_init(&b, NULL, 0);
}

SENTENCE(barrier_for_one, 1, "With a count of one nobody waits, and each is the serial thread.")
{
    return barrier_wait(make_barrier(variant, 1));
}

SENTENCE(barrier_names_one_thread, YES, "Exactly one of each round is told that it is the serial thread.")
{
    pthread_barrier_t *b = make_barrier(variant, 3);
    for (int round = 0; round < 10; round++) {
        struct call c[2];
        begin(&c[0], barrier_wait, b);
        begin(&c[1], barrier_wait, b);
        int serial = barrier_wait(b);
        serial += end(&c[0]) + end(&c[1]);
        if (serial != 1)
            return NO;
    }
    return YES;
}

SENTENCE(barrier_waits_for_the_last, YES, "Nobody passes before all have come.")
{
    struct call c;
    pthread_barrier_t *b = make_barrier(variant, 2);
    int waited = waits(&c, barrier_wait, b);
    int serial = barrier_wait(b);
    serial += end(&c);
    return yes_if(waited && serial == 1);
}

SENTENCE(barrier_destroyed_after_use, 0, "Whoever returns may destroy it, though others still return.")
{
    struct call c;
    pthread_barrier_t *b = make_barrier(variant, 2);
    begin(&c, barrier_wait, b);
    barrier_wait(b);
    STEP(pthread_barrier_destroy(b));
    end(&c);
    return 0;
}

SENTENCE(barrier_between_processes, variant == SHARED ? 0 : SKIP, "A shared barrier counts threads of two processes.")
{
    pthread_barrier_t *b = make_barrier(variant, 2);
    fflush(stdout);
    pid_t pid = fork();
    MUST(pid >= 0);
    if (pid == 0)
        _exit(barrier_wait(b));
    int status, serial = barrier_wait(b);
    MUST(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
    return serial + WEXITSTATUS(status) == 1 ? 0 : NO;
}

static pthread_once_t once = PTHREAD_ONCE_INIT, slow_once = PTHREAD_ONCE_INIT, cancelled_once = PTHREAD_ONCE_INIT;
static int runs, slow_done, attempts;

static void run(void)
{
    runs++;
}

SENTENCE(once_runs_once, ONCE(1), "The first call runs the routine, later ones do not.")
{
    for (int i = 0; i < 3; i++)
        STEP(pthread_once(&once, run));
    return runs;
}

static void run_slowly(void)
{
    sleep_ns(SOON);
    slow_done = 1;
}

static int call_slow(void *unused)
{
    (void)unused;
    STEP(pthread_once(&slow_once, run_slowly));
    return yes_if(slow_done);
}

SENTENCE(once_waits_for_the_first, ONCE(YES), "Who calls meanwhile waits until the routine is done.")
{
    struct call c[3];
    for (int i = 0; i < 3; i++)
        begin(&c[i], call_slow, NULL);
    int all = YES;
    for (int i = 0; i < 3; i++)
        if (end(&c[i]) != YES)
            all = NO;
    return all;
}

static void sleeps_at_first(void)
{
    if (attempts++ == 0)
        pause();
}

static int call_cancelled(void *unused)
{
    (void)unused;
    return pthread_once(&cancelled_once, sleeps_at_first);
}

SENTENCE(once_cancelled_is_not_done, ONCE(2), "A routine that was cancelled runs again at the next call.")
{
    struct call c;
    begin(&c, call_cancelled, NULL);
    sleep_ns(SOON);
    MUST(pthread_cancel(c.thread) == 0);
    end(&c);
    STEP(call_cancelled(NULL));
    return attempts;
}

int main(void)
{
    static const char *const names[COUNT] = {"private", "shared"};
    return ask_all(names, COUNT) != 0;
}
