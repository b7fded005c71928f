/* Locks by symbol, by the call that makes them, and by the call that takes them first. With an argument, only takes
   some locks. */
#include "decided.h"
#include <threads.h>

static pthread_mutex_t hot = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER;
struct {
    int before;
    pthread_mutex_t mutex;
    pthread_rwlock_t rwlock;
} second_of_pair;
pthread_mutex_t made;
pthread_mutex_t elsewhere;

__attribute__((noinline)) static void make_one(pthread_mutex_t *m)
{
    CHECK_EQ(pthread_mutex_init(m, NULL), 0);
}

__attribute__((noinline)) static void make_one_elsewhere(pthread_mutex_t *m)
{
    CHECK_EQ(pthread_mutex_init(m, NULL), 0);
    CHECK(m);
}

__attribute__((noinline)) static void take_first(int how, void *object)
{
    struct timespec at = in_ns(CLOCK_REALTIME, 1000LL * MS), at_too = in_ns(CLOCK_MONOTONIC, 1000LL * MS);
    switch (how) {
    case 0: CHECK_EQ(pthread_mutex_lock(object), 0); break;
    case 1: CHECK_EQ(pthread_mutex_trylock(object), 0); break;
    case 2: CHECK_EQ(pthread_mutex_timedlock(object, &at), 0); break;
    case 3: CHECK_EQ(pthread_mutex_clocklock(object, CLOCK_MONOTONIC, &at_too), 0); break;
    case 4: CHECK_EQ(mtx_lock(object), thrd_success); break;
    case 5: CHECK_EQ(mtx_trylock(object), thrd_success); break;
    case 6: CHECK_EQ(mtx_timedlock(object, &at), thrd_success); break;
    case 7: CHECK_EQ(pthread_rwlock_rdlock(object), 0); break;
    case 8: CHECK_EQ(pthread_rwlock_tryrdlock(object), 0); break;
    case 9: CHECK_EQ(pthread_rwlock_wrlock(object), 0); break;
    case 10: CHECK_EQ(pthread_rwlock_trywrlock(object), 0); break;
    case 11: CHECK_EQ(pthread_rwlock_timedrdlock(object, &at), 0); break;
    case 12: CHECK_EQ(pthread_rwlock_clockwrlock(object, CLOCK_MONOTONIC, &at_too), 0); break;
    case 13: CHECK_EQ(mtx_init(object, mtx_recursive), thrd_success); break;
    case 14: CHECK_EQ(pthread_rwlock_init(object, NULL), 0); break;
    }
    CHECK(object);
}

static void first_calls_of_all_kinds(void)
{
    for (int how = 0; how <= 6; how++) {
        pthread_mutex_t *m = calloc(1, sizeof *m);
        take_first(how, m);
        CHECK_MUTEX(m, TTAS, 2);
        CHECK_EQ(pthread_mutex_unlock(m), 0);
        /* Decided for good. */
        CHECK_EQ(pthread_mutex_lock(m), 0);
        CHECK_MUTEX(m, TTAS, 2);
        CHECK_EQ(pthread_mutex_unlock(m), 0);
        free(m);
    }
    for (int how = 7; how <= 12; how++) {
        pthread_rwlock_t *l = calloc(1, sizeof *l);
        take_first(how, l);
        CHECK_RWLOCK(l, TTAS, 2);
        CHECK_EQ(pthread_rwlock_unlock(l), 0);
        free(l);
    }
    mtx_t m;
    take_first(13, &m);
    CHECK_MUTEX(&m, TTAS, 2);
    pthread_rwlock_t l;
    take_first(14, &l);
    CHECK_RWLOCK(&l, TTAS, 2);
}

/* The same memory, made again by others. */
static void destroyed_and_made_again(void)
{
    pthread_mutex_t *m = malloc(sizeof *m);
    memset(m, 0xa5, sizeof *m);
    make_one(m);
    CHECK_MUTEX(m, LIBC, 1);
    CHECK_EQ(pthread_mutex_lock(m), 0);
    CHECK_EQ(word_at(m, 8), gettid()); /* the C library's owner */
    CHECK_EQ(pthread_mutex_destroy(m), EBUSY);
    CHECK_EQ(pthread_mutex_unlock(m), 0);
    CHECK_EQ(pthread_mutex_destroy(m), 0);
    CHECK_EQ(pthread_mutex_lock(m), EINVAL);
    make_one_elsewhere(m);
    CHECK_MUTEX(m, ADAPTIVE, BY_DEFAULT);
    CHECK_EQ(pthread_mutex_lock(m), 0);
    CHECK_EQ(pthread_mutex_destroy(m), EBUSY);
    CHECK_EQ(pthread_mutex_unlock(m), 0);
    CHECK_EQ(pthread_mutex_destroy(m), 0);
    make_one(m);
    CHECK_MUTEX(m, LIBC, 1);
    CHECK_EQ(pthread_mutex_destroy(m), 0);
    free(m);
}

int main(int count, char **arguments)
{
    (void)arguments;
    if (count > 1) {
        CHECK_EQ(pthread_mutex_lock(&hot), 0);
        CHECK_EQ(pthread_mutex_unlock(&hot), 0);
        return 0;
    }
    CHECK_EQ(pthread_mutex_lock(&hot), 0);
    CHECK_MUTEX(&hot, QUEUED, 0);
    CHECK_EQ(pthread_mutex_lock(&plain), 0);
    CHECK_MUTEX(&plain, ADAPTIVE, BY_DEFAULT);
    CHECK_EQ(pthread_mutex_lock(&second_of_pair.mutex), 0);
    CHECK_MUTEX(&second_of_pair.mutex, TICKET, 3);
    CHECK_EQ(pthread_rwlock_wrlock(&second_of_pair.rwlock), 0);
    CHECK_RWLOCK(&second_of_pair.rwlock, TICKET, 3);
    make_one_elsewhere(&made);
    CHECK_MUTEX(&made, LIBC, 4);
    make_one(&elsewhere);
    CHECK_MUTEX(&elsewhere, LIBC, 1);
    /* A symbol is older than a call: the first rule of the file that fits decides. */
    take_first(0, &elsewhere);
    CHECK_MUTEX(&elsewhere, LIBC, 1);
    first_calls_of_all_kinds();
    destroyed_and_made_again();
    return 0;
}
