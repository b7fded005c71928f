/* Locks of every policy in one program: kinds and their errors, mutual exclusion, condition variables, fork. */
#include "decided.h"
#include <sys/wait.h>

struct locks {
    pthread_mutex_t normal, recursive, checked;
    pthread_rwlock_t rwlock;
    pthread_cond_t cond;
    long counter;
    int turn;
};
#define LOCKS                                                                                                          \
    {                                                                                                                  \
        PTHREAD_MUTEX_INITIALIZER, PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP, PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP,    \
            PTHREAD_RWLOCK_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0                                                 \
    }
struct locks with_adaptive = LOCKS, with_queued = LOCKS, with_ttas = LOCKS, with_ticket = LOCKS, with_libc = LOCKS;
static struct locks *const all[] = {&with_adaptive, &with_queued, &with_ttas, &with_ticket, &with_libc};
enum { POLICIES = 5, ROUNDS = 300, TURNS = 40 };

static void *cannot_unlock(void *m)
{
    CHECK_EQ(pthread_mutex_unlock(m), EPERM);
    CHECK_EQ(pthread_mutex_trylock(m), EBUSY);
    return NULL;
}

static void kinds(struct locks *l, int policy)
{
    struct timespec past = in_ns(CLOCK_REALTIME, -1);
    CHECK_EQ(pthread_mutex_unlock(&l->checked), EPERM);
    CHECK_EQ(pthread_mutex_lock(&l->normal), 0);
    CHECK_EQ(pthread_mutex_trylock(&l->normal), EBUSY);
    CHECK_EQ(pthread_mutex_timedlock(&l->normal, &past), ETIMEDOUT);
    CHECK_EQ(pthread_mutex_unlock(&l->normal), 0);
    CHECK_EQ(pthread_mutex_lock(&l->recursive), 0);
    CHECK_EQ(pthread_mutex_lock(&l->recursive), 0);
    CHECK_EQ(pthread_mutex_trylock(&l->recursive), 0);
    in_thread(cannot_unlock, &l->recursive);
    for (int i = 0; i < 3; i++)
        CHECK_EQ(pthread_mutex_unlock(&l->recursive), 0);
    CHECK_EQ(pthread_mutex_unlock(&l->recursive), EPERM);
    CHECK_EQ(pthread_mutex_lock(&l->checked), 0);
    CHECK_EQ(pthread_mutex_lock(&l->checked), EDEADLK);
    in_thread(cannot_unlock, &l->checked);
    CHECK_EQ(pthread_mutex_unlock(&l->checked), 0);
    CHECK_EQ(pthread_rwlock_wrlock(&l->rwlock), 0);
    CHECK_EQ(pthread_rwlock_tryrdlock(&l->rwlock), EBUSY);
    CHECK_EQ(pthread_rwlock_rdlock(&l->rwlock), EDEADLK);
    CHECK_EQ(pthread_rwlock_unlock(&l->rwlock), 0);
    CHECK_EQ(pthread_rwlock_rdlock(&l->rwlock), 0);
    CHECK_EQ(pthread_rwlock_trywrlock(&l->rwlock), EBUSY);
    CHECK_EQ(pthread_rwlock_unlock(&l->rwlock), 0);
    CHECK_MUTEX(&l->normal, policy, policy);
    CHECK_MUTEX(&l->recursive, policy, policy);
    CHECK_MUTEX(&l->checked, policy, policy);
    CHECK_RWLOCK(&l->rwlock, policy, policy);
}

static void *count_up(void *unused)
{
    for (int i = 0; i < ROUNDS; i++)
        for (int p = 0; p < POLICIES; p++) {
            struct locks *l = all[p];
            pthread_mutex_t *m = i % 3 == 0 ? &l->recursive : &l->checked;
            CHECK_EQ(pthread_mutex_lock(&l->normal), 0);
            CHECK_EQ(pthread_mutex_lock(m), 0);
            CHECK_EQ(pthread_rwlock_wrlock(&l->rwlock), 0);
            l->counter++;
            CHECK_EQ(pthread_rwlock_unlock(&l->rwlock), 0);
            CHECK_EQ(pthread_mutex_unlock(m), 0);
            CHECK_EQ(pthread_mutex_unlock(&l->normal), 0);
        }
    return unused;
}

static void exclusion(void)
{
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        threads[i] = start(count_up, NULL);
    for (int i = 0; i < 2; i++)
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
    for (int p = 0; p < POLICIES; p++)
        CHECK_EQ(all[p]->counter, 2 * ROUNDS);
}

static void *answer(void *argument)
{
    struct locks *l = argument;
    for (int i = 0; i < TURNS; i++) {
        CHECK_EQ(pthread_mutex_lock(&l->checked), 0);
        while (l->turn != 1)
            CHECK_EQ(pthread_cond_wait(&l->cond, &l->checked), 0);
        l->turn = 0;
        CHECK_EQ(pthread_cond_signal(&l->cond), 0);
        CHECK_EQ(pthread_mutex_unlock(&l->checked), 0);
    }
    return NULL;
}

static void conditions(struct locks *l)
{
    pthread_t thread = start(answer, l);
    for (int i = 0; i < TURNS; i++) {
        CHECK_EQ(pthread_mutex_lock(&l->checked), 0);
        l->turn = 1;
        CHECK_EQ(pthread_cond_signal(&l->cond), 0);
        while (l->turn != 0)
            CHECK_EQ(pthread_cond_wait(&l->cond, &l->checked), 0);
        CHECK_EQ(pthread_mutex_unlock(&l->checked), 0);
    }
    CHECK_EQ(pthread_join(thread, NULL), 0);
    struct timespec soon = in_ns(CLOCK_REALTIME, MS);
    CHECK_EQ(pthread_mutex_lock(&l->normal), 0);
    CHECK_EQ(pthread_cond_timedwait(&l->cond, &l->normal, &soon), ETIMEDOUT);
    CHECK_EQ(pthread_mutex_trylock(&l->normal), EBUSY);
    CHECK_EQ(pthread_mutex_unlock(&l->normal), 0);
}

static pthread_cond_t shared_cond;
static struct locks *shared_with;

static void *signal_shared(void *unused)
{
    CHECK_EQ(pthread_mutex_lock(&shared_with->normal), 0);
    shared_with->turn = 7;
    CHECK_EQ(pthread_cond_signal(&shared_cond), 0);
    CHECK_EQ(pthread_mutex_unlock(&shared_with->normal), 0);
    return unused;
}

/* A process-shared condition variable is the C library's. */
static void shared_conditions(struct locks *l)
{
    pthread_condattr_t attributes;
    CHECK_EQ(pthread_condattr_init(&attributes), 0);
    CHECK_EQ(pthread_condattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED), 0);
    CHECK_EQ(pthread_cond_init(&shared_cond, &attributes), 0);
    shared_with = l;
    CHECK_EQ(pthread_mutex_lock(&l->normal), 0);
    pthread_t thread = start(signal_shared, NULL);
    while (l->turn != 7)
        CHECK_EQ(pthread_cond_wait(&shared_cond, &l->normal), 0);
    CHECK_EQ(pthread_mutex_unlock(&l->normal), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    CHECK_EQ(pthread_cond_destroy(&shared_cond), 0);
}

/* A child may release what its thread has, and has the same policies. */
static void forks(void)
{
    for (int p = 0; p < POLICIES; p++)
        CHECK_EQ(pthread_mutex_lock(&all[p]->normal), 0);
    pid_t child = fork();
    for (int p = 0; p < POLICIES; p++)
        CHECK_EQ(pthread_mutex_unlock(&all[p]->normal), 0);
    for (int p = 0; p < POLICIES; p++) {
        CHECK_EQ(pthread_mutex_lock(&all[p]->checked), 0);
        CHECK_MUTEX(&all[p]->checked, p, p);
        CHECK_EQ(pthread_mutex_unlock(&all[p]->checked), 0);
        CHECK_EQ(pthread_rwlock_rdlock(&all[p]->rwlock), 0);
        CHECK_EQ(pthread_rwlock_unlock(&all[p]->rwlock), 0);
    }
    if (child == 0)
        _exit(0);
    int status;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
}

int main(void)
{
    for (int p = 0; p < POLICIES; p++)
        kinds(all[p], p);
    exclusion();
    for (int p = 0; p < POLICIES; p++) {
        conditions(all[p]);
        shared_conditions(all[p]);
    }
    forks();
    for (int p = 0; p < POLICIES; p++) {
        CHECK_EQ(pthread_mutex_destroy(&all[p]->normal), 0);
        CHECK_EQ(pthread_mutex_lock(&all[p]->normal), EINVAL);
        CHECK_EQ(pthread_rwlock_destroy(&all[p]->rwlock), 0);
        CHECK_EQ(pthread_cond_destroy(&all[p]->cond), 0);
    }
    return 0;
}
