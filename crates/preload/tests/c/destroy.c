/* A lock may be destroyed, and its memory unmapped, by whoever locks it after the last unlock: unlock must not touch it
   once it is free. Mutexes, spin locks and readers-writer locks, by turns. */
#include "check.h"
#include <sys/mman.h>

enum { MUTEX, RWLOCK, SPIN, KINDS };

struct object {
    int kind;
    pthread_mutex_t mutex;
    pthread_rwlock_t rwlock;
    pthread_spinlock_t spin;
    int references;
};

static int lock(struct object *o)
{
    if (o->kind == SPIN)
        return pthread_spin_lock(&o->spin);
    return o->kind == MUTEX ? pthread_mutex_lock(&o->mutex) : pthread_rwlock_wrlock(&o->rwlock);
}

static int unlock(struct object *o)
{
    if (o->kind == SPIN)
        return pthread_spin_unlock(&o->spin);
    return o->kind == MUTEX ? pthread_mutex_unlock(&o->mutex) : pthread_rwlock_unlock(&o->rwlock);
}

static pthread_barrier_t barrier;
static struct object *shared;

static void drop_reference(struct object *o)
{
    CHECK_EQ(lock(o), 0);
    int last = --o->references == 0;
    CHECK_EQ(unlock(o), 0);
    if (last) {
        CHECK_EQ(pthread_mutex_destroy(&o->mutex), 0);
        CHECK_EQ(pthread_rwlock_destroy(&o->rwlock), 0);
        CHECK_EQ(munmap(o, 4096), 0);
    }
}

enum { THREADS = 3, ROUNDS = 1500 };

static void *body(void *unused)
{
    for (int i = 0; i < ROUNDS; i++) {
        pthread_barrier_wait(&barrier);
        struct object *o = shared;
        pthread_barrier_wait(&barrier);
        drop_reference(o);
    }
    return unused;
}

int main(void)
{
    pthread_t threads[THREADS];
    CHECK_EQ(pthread_barrier_init(&barrier, NULL, THREADS + 1), 0);
    for (int i = 0; i < THREADS; i++)
        threads[i] = start(body, NULL);
    for (int i = 0; i < ROUNDS; i++) {
        shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(shared != MAP_FAILED);
        shared->kind = i % KINDS;
        CHECK_EQ(pthread_mutex_init(&shared->mutex, NULL), 0);
        CHECK_EQ(pthread_rwlock_init(&shared->rwlock, NULL), 0);
        CHECK_EQ(pthread_spin_init(&shared->spin, PTHREAD_PROCESS_PRIVATE), 0);
        shared->references = THREADS;
        pthread_barrier_wait(&barrier);
        pthread_barrier_wait(&barrier);
    }
    for (int i = 0; i < THREADS; i++)
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
    return 0;
}
