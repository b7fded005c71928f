/* Objects in shared memory, between this process and one that is not preloaded: the C library's functions must be at
   work on both sides. Mutexes (plain, robust, recursive), readers-writer locks, spin locks, barriers, and a turn that
   goes to and fro by a condition variable. */
#include "check.h"
#include "kernel.h"
#include <sys/mman.h>
#include <sys/wait.h>

enum { ROUNDS = 300, BURST = 20000 };

static struct shared {
    pthread_mutex_t mutex, recursive, robust;
    pthread_cond_t turned;
    pthread_rwlock_t rwlock;
    pthread_spinlock_t spin;
    pthread_barrier_t barrier;
    int turn;
    long by_mutex, by_recursive, by_robust, by_rwlock, by_spin;
} *s;

static void make_mutex(pthread_mutex_t *m, int type, int robust)
{
    pthread_mutexattr_t a;
    CHECK_EQ(pthread_mutexattr_init(&a), 0);
    CHECK_EQ(pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED), 0);
    CHECK_EQ(pthread_mutexattr_settype(&a, type), 0);
    CHECK_EQ(pthread_mutexattr_setrobust(&a, robust), 0);
    CHECK_EQ(pthread_mutex_init(m, &a), 0);
}

static void make(void)
{
    pthread_condattr_t c;
    pthread_rwlockattr_t r;
    pthread_barrierattr_t b;
    make_mutex(&s->mutex, PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_STALLED);
    make_mutex(&s->recursive, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_STALLED);
    make_mutex(&s->robust, PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST);
    CHECK_EQ(pthread_condattr_init(&c), 0);
    CHECK_EQ(pthread_condattr_setpshared(&c, PTHREAD_PROCESS_SHARED), 0);
    CHECK_EQ(pthread_cond_init(&s->turned, &c), 0);
    CHECK_EQ(pthread_rwlockattr_init(&r), 0);
    CHECK_EQ(pthread_rwlockattr_setpshared(&r, PTHREAD_PROCESS_SHARED), 0);
    CHECK_EQ(pthread_rwlock_init(&s->rwlock, &r), 0);
    CHECK_EQ(pthread_spin_init(&s->spin, PTHREAD_PROCESS_SHARED), 0);
    CHECK_EQ(pthread_barrierattr_init(&b), 0);
    CHECK_EQ(pthread_barrierattr_setpshared(&b, PTHREAD_PROCESS_SHARED), 0);
    CHECK_EQ(pthread_barrier_init(&s->barrier, &b, 2), 0);
}

static void hand_over(int me)
{
    for (int i = 0; i < ROUNDS; i++) {
        CHECK_EQ(pthread_mutex_lock(&s->mutex), 0);
        while (s->turn != me)
            CHECK_EQ(pthread_cond_wait(&s->turned, &s->mutex), 0);
        s->turn = !me;
        CHECK_EQ(i % 3 ? pthread_cond_signal(&s->turned) : pthread_cond_broadcast(&s->turned), 0);
        CHECK_EQ(pthread_mutex_unlock(&s->mutex), 0);
    }
}

/* The counts are right only if both processes use one protocol on each lock. */
static void count(void)
{
    for (int i = 0; i < BURST; i++) {
        CHECK_EQ(pthread_mutex_lock(&s->mutex), 0);
        s->by_mutex++;
        CHECK_EQ(pthread_mutex_unlock(&s->mutex), 0);
        CHECK_EQ(pthread_mutex_lock(&s->recursive), 0);
        CHECK_EQ(pthread_mutex_lock(&s->recursive), 0);
        s->by_recursive++;
        CHECK_EQ(pthread_mutex_unlock(&s->recursive), 0);
        CHECK_EQ(pthread_mutex_unlock(&s->recursive), 0);
        CHECK_EQ(pthread_mutex_lock(&s->robust), 0);
        s->by_robust++;
        CHECK_EQ(pthread_mutex_unlock(&s->robust), 0);
        CHECK_EQ(i % 2 ? pthread_rwlock_rdlock(&s->rwlock) : pthread_rwlock_wrlock(&s->rwlock), 0);
        s->by_rwlock += i % 2 == 0;
        CHECK_EQ(pthread_rwlock_unlock(&s->rwlock), 0);
        CHECK_EQ(pthread_spin_lock(&s->spin), 0);
        s->by_spin++;
        CHECK_EQ(pthread_spin_unlock(&s->spin), 0);
    }
}

static void partner(int fd)
{
    s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(s != MAP_FAILED);
    CHECK(!preloaded());
    pthread_barrier_wait(&s->barrier);
    count();
    hand_over(1);
    CHECK_EQ(pthread_mutex_lock(&s->robust), 0); /* and ends with it */
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        alarm(60);
        partner(atoi(argv[1]));
        _exit(0);
    }
    int fd = memfd_create("shared", 0);
    CHECK(fd >= 0);
    CHECK_EQ(ftruncate(fd, sizeof *s), 0);
    s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(s != MAP_FAILED);
    make();
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        char number[16];
        snprintf(number, sizeof number, "%d", fd);
        unsetenv("LD_PRELOAD");
        unsetenv("TURNWISE_LOCK");
        execl(argv[0], argv[0], number, (char *)NULL);
        _exit(3);
    }
    pthread_barrier_wait(&s->barrier);
    count();
    hand_over(0);
    int status;
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK_EQ(status, 0);
    CHECK_EQ(s->by_mutex, 2 * BURST);
    CHECK_EQ(s->by_recursive, 2 * BURST);
    CHECK_EQ(s->by_robust, 2 * BURST);
    CHECK_EQ(s->by_rwlock, BURST);
    CHECK_EQ(s->by_spin, 2 * BURST);
    if (!keeps_robust_lists()) {
        skipped("a process that ends with a robust mutex, since the kernel keeps no lists of them here");
        return 0;
    }
    CHECK_EQ(pthread_mutex_lock(&s->robust), EOWNERDEAD);
    CHECK_EQ(pthread_mutex_consistent(&s->robust), 0);
    CHECK_EQ(pthread_mutex_unlock(&s->robust), 0);
    return 0;
}
