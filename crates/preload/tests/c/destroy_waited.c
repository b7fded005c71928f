/* A mutex that a condition wait uses cannot be destroyed, and goes on; in a forked child, which has no waiters, it can.
   Right after the last wait it is destroyed and its memory unmapped: a waiter must not touch it after that. */
#include "check.h"
#include <sys/mman.h>
#include <sys/wait.h>

struct object {
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    int inside, go, left;
};

static void *wait_until_go(void *argument)
{
    struct object *o = argument;
    CHECK_EQ(pthread_mutex_lock(&o->mutex), 0);
    o->inside++;
    while (!o->go)
        CHECK_EQ(pthread_cond_wait(&o->cond, &o->mutex), 0);
    int last = --o->left == 0;
    CHECK_EQ(pthread_mutex_unlock(&o->mutex), 0);
    if (last) {
        CHECK_EQ(pthread_cond_destroy(&o->cond), 0);
        CHECK_EQ(pthread_mutex_destroy(&o->mutex), 0);
        CHECK_EQ(munmap(o, 4096), 0);
    }
    return NULL;
}

static struct object *make(int type, int waiters)
{
    struct object *o = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_mutexattr_t attributes;
    CHECK(o != MAP_FAILED);
    CHECK_EQ(pthread_mutexattr_init(&attributes), 0);
    CHECK_EQ(pthread_mutexattr_settype(&attributes, type), 0);
    CHECK_EQ(pthread_mutex_init(&o->mutex, &attributes), 0);
    CHECK_EQ(pthread_mutexattr_destroy(&attributes), 0);
    CHECK_EQ(pthread_cond_init(&o->cond, NULL), 0);
    o->left = waiters;
    return o;
}

static void until_inside(struct object *o, int count)
{
    for (int found = 0; found != count;) {
        CHECK_EQ(pthread_mutex_lock(&o->mutex), 0);
        found = o->inside;
        CHECK_EQ(pthread_mutex_unlock(&o->mutex), 0);
        if (found != count)
            sched_yield();
    }
}

static void let_go(struct object *o)
{
    CHECK_EQ(pthread_mutex_lock(&o->mutex), 0);
    o->go = 1;
    CHECK_EQ(pthread_cond_broadcast(&o->cond), 0);
    CHECK_EQ(pthread_mutex_unlock(&o->mutex), 0);
}

enum { WAITERS = 3, ROUNDS = 400 };

static void destroy_and_unmap(int type)
{
    pthread_t threads[WAITERS];
    for (int i = 0; i < times(ROUNDS); i++) {
        struct object *o = make(type, WAITERS);
        for (int t = 0; t < WAITERS; t++)
            threads[t] = start(wait_until_go, o);
        until_inside(o, WAITERS);
        CHECK_EQ(pthread_mutex_destroy(&o->mutex), EBUSY);
        let_go(o);
        for (int t = 0; t < WAITERS; t++)
            CHECK_EQ(pthread_join(threads[t], NULL), 0);
    }
}

static void *wait_in_child(void *argument)
{
    struct object *o = argument;
    CHECK_EQ(pthread_mutex_lock(&o->mutex), 0);
    o->go = 0;
    o->inside = 1;
    while (!o->go)
        CHECK_EQ(pthread_cond_wait(&o->cond, &o->mutex), 0);
    CHECK_EQ(pthread_mutex_unlock(&o->mutex), 0);
    return NULL;
}

/* The C library's count of waiters outlives them, and its condition variable has a group of them; so this is asked of
   the library under test only. */
static void in_child(struct object *o)
{
    static pthread_cond_t fresh = PTHREAD_COND_INITIALIZER;
    alarm(60);
    o->inside = 0;
    o->cond = fresh;
    pthread_t thread = start(wait_in_child, o);
    until_inside(o, 1);
    CHECK_EQ(pthread_mutex_destroy(&o->mutex), EBUSY);
    let_go(o);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    CHECK_EQ(pthread_mutex_destroy(&o->mutex), 0);
    _exit(0);
}

static void await_child(pid_t pid)
{
    int status;
    CHECK(pid > 0);
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK_EQ(status, 0);
}

static void fork_while_one_waits(int type)
{
    struct object *o = make(type, 1);
    pthread_t thread = start(wait_until_go, o);
    until_inside(o, 1);
    pid_t pid = fork();
    if (pid == 0)
        in_child(o);
    await_child(pid);
    pid = fork();
    if (pid == 0)
        _exit(pthread_mutex_destroy(&o->mutex)); /* nobody has waited here */
    await_child(pid);
    CHECK_EQ(pthread_mutex_destroy(&o->mutex), EBUSY);
    let_go(o);
    CHECK_EQ(pthread_join(thread, NULL), 0);
}

int main(void)
{
    static const int types[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK,
                                PTHREAD_MUTEX_ADAPTIVE_NP};
    for (int i = 0; i < 4; i++) {
        destroy_and_unmap(types[i]);
        if (preloaded())
            fork_while_one_waits(types[i]);
    }
    return 0;
}
