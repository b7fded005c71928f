/* fork in a program with threads: what a child may do with the locks it inherits. */
#include "mutex.h"

static pthread_mutex_t guarded = PTHREAD_MUTEX_INITIALIZER;

static int make_from_inherited(int variant, pthread_mutex_t **m)
{
    *m = malloc(sizeof **m);
    return make(variant, *m);
}

static int child_has_it(void *m)
{
    STEP(unlock(m));
    STEP(lock_unlock(m));
    return elsewhere(lock_unlock, m);
}

/* A child's thread has another id, so the C library's mutexes that know their owner's id refuse it. */
SENTENCE(the_child_has_what_its_thread_had, KINDS[variant].owned || KINDS[variant].type != PLAIN ? SKIP : 0,
         "A child's only thread has the plain locks that the forking thread had.")
{
    pthread_mutex_t *m;
    STEP(make_from_inherited(variant, &m));
    STEP(lock(m));
    return in_child(child_has_it, m);
}

SENTENCE(the_child_finds_free_what_was_free, 0, "What nobody had at the fork a child's threads can lock.")
{
    pthread_mutex_t *m;
    STEP(make_from_inherited(variant, &m));
    STEP(lock_unlock(m));
    return in_child(lock_unlock, m);
}

SENTENCE(the_child_finds_taken_what_was_taken, EBUSY, "What another thread had at the fork stays taken.")
{
    pthread_mutex_t *m;
    STEP(make_from_inherited(variant, &m));
    STEP(elsewhere(lock, m));
    return KINDS[variant].owned ? EBUSY : in_child(try_lock, m);
}

static int child_tries(void *m)
{
    STEP(unlock(m));
    STEP(try_unlock(m));
    STEP(soon_monotonic(m));
    STEP(unlock(m));
    STEP(soon_wall(m));
    STEP(unlock(m));
    return pthread_mutex_destroy(m);
}

static int wait_again_and_again(void *m)
{
    for (int i = 0; i < 40; i++) {
        STEP(lock(m));
        sleep_ns(MS / 2);
        STEP(unlock(m));
    }
    return 0;
}

/* Long enough for a waiter to be overtaken and to request a hand-off. */
SENTENCE(the_child_tries_what_others_waited_for, KINDS[variant].owned || KINDS[variant].type != PLAIN ? SKIP : 0,
         "A lock that others waited for is free when it is unlocked: to tries, short waits and destroy.")
{
    struct call c[3];
    pthread_mutex_t *m;
    int answer = 0;
    STEP(make_from_inherited(variant, &m));
    for (int i = 0; i < 3; i++)
        begin(&c[i], wait_again_and_again, m);
    for (int i = 0; i < 8; i++) {
        STEP(lock(m));
        sleep_ns(5 * MS);
        if (answer == 0)
            answer = in_child(child_tries, m);
        STEP(unlock(m));
    }
    for (int i = 0; i < 3; i++)
        STEP(end(&c[i]));
    return answer;
}

static int lock_unlock_rwlock(void *l)
{
    STEP(pthread_rwlock_wrlock(l));
    return pthread_rwlock_unlock(l);
}

static int child_has_the_read_lock(void *l)
{
    STEP(pthread_rwlock_tryrdlock(l));
    STEP(pthread_rwlock_unlock(l));
    if (pthread_rwlock_trywrlock(l) != EBUSY)
        return EDOM;
    STEP(pthread_rwlock_unlock(l));
    STEP(lock_unlock_rwlock(l));
    return elsewhere(lock_unlock_rwlock, l);
}

SENTENCE(the_child_has_the_read_lock, ONCE(0), "A child's only thread reads on if the forking thread was reading.")
{
    pthread_rwlock_t l;
    STEP(pthread_rwlock_init(&l, NULL));
    STEP(pthread_rwlock_rdlock(&l));
    STEP(in_child(child_has_the_read_lock, &l));
    return pthread_rwlock_unlock(&l);
}

static int child_has_the_spin_lock(void *l)
{
    if (pthread_spin_trylock(l) != EBUSY)
        return EDOM;
    STEP(pthread_spin_unlock(l));
    STEP(pthread_spin_lock(l));
    return pthread_spin_unlock(l);
}

SENTENCE(the_child_has_the_spin_lock, ONCE(0), "A child's only thread has the spin lock that the forking thread had.")
{
    pthread_spinlock_t l;
    STEP(pthread_spin_init(&l, PTHREAD_PROCESS_PRIVATE));
    STEP(pthread_spin_lock(&l));
    STEP(in_child(child_has_the_spin_lock, (void *)&l));
    return pthread_spin_unlock(&l);
}

static pthread_cond_t used = PTHREAD_COND_INITIALIZER;
static int turn;

static int answer_turns(void *m)
{
    STEP(pthread_mutex_lock(m));
    for (int i = 0; i < 20; i++) {
        while (turn == 0)
            STEP(pthread_cond_wait(&used, m));
        turn = 0;
        STEP(pthread_cond_signal(&used));
    }
    return pthread_mutex_unlock(m);
}

static int hand_turns_over(void *m)
{
    struct call c;
    turn = 0;
    begin(&c, answer_turns, m);
    STEP(pthread_mutex_lock(m));
    for (int i = 0; i < 20; i++) {
        turn = 1;
        STEP(pthread_cond_signal(&used));
        while (turn != 0)
            STEP(pthread_cond_wait(&used, m));
    }
    STEP(pthread_mutex_unlock(m));
    return end(&c);
}

SENTENCE(the_child_waits_and_signals, 0, "A condition variable that was used before works.")
{
    pthread_mutex_t *m;
    STEP(make_from_inherited(variant, &m));
    STEP(hand_turns_over(m));
    return in_child(hand_turns_over, m);
}

static void take(void)
{
    MUST(pthread_mutex_lock(&guarded) == 0);
}

static void give(void)
{
    MUST(pthread_mutex_unlock(&guarded) == 0);
}

static int hold_now_and_then(void *stop)
{
    while (!__atomic_load_n((int *)stop, __ATOMIC_RELAXED)) {
        STEP(lock_unlock(&guarded));
        sleep_ns(MS / 10);
    }
    return 0;
}

SENTENCE(handlers_free_the_lock, ONCE(0), "Handlers that take a lock around fork leave it free on both sides.")
{
    struct call c[2];
    int stop = 0;
    STEP(pthread_atfork(take, give, give));
    for (int i = 0; i < 2; i++)
        begin(&c[i], hold_now_and_then, &stop);
    for (int i = 0; i < 10; i++)
        STEP(in_child(lock_unlock, &guarded));
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    STEP(end(&c[0]));
    return end(&c[1]);
}

/* What the handlers of `handlers_run_in_order` noted; they stay for good, but only its fork counts. */
static char order[8];
static int noted = 4;
static void note(char what)
{
    if (noted < 4)
        order[noted++] = what;
}

#define NOTE(name, what)                                                                                               \
    static void name(void)                                                                                             \
    {                                                                                                                  \
        note(what);                                                                                                    \
    }
NOTE(before_one, 'a')
NOTE(before_two, 'b')
NOTE(after_one, 'c')
NOTE(after_two, 'd')

static int child_order(void *unused)
{
    (void)unused;
    return strcmp(order, "bacd") == 0 ? 0 : 1;
}

SENTENCE(handlers_run_in_order, ONCE(0), "Handlers before a fork run last first, those after it first first.")
{
    STEP(pthread_atfork(before_one, after_one, after_one));
    STEP(pthread_atfork(before_two, after_two, after_two));
    noted = 0;
    STEP(in_child(child_order, NULL));
    return strcmp(order, "bacd") == 0 ? 0 : 1;
}

int main(void)
{
    const char *names[COUNT];
    for (int i = 0; i < COUNT; i++)
        names[i] = KINDS[i].name;
    return ask_all(names, COUNT) != 0;
}
