// Threads that wait for locks of the C library, by the first argument; the first thread sleeps for ten minutes.
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>

static pthread_mutex_t left, right;
static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t both;
static sem_t empty;
static pthread_t thread[4];

static void sleeps(void) { poll(0, 0, 600000); }

static void *left_first(void *unused) {
    pthread_mutex_lock(&left);
    pthread_barrier_wait(&both);
    pthread_mutex_lock(&right);
    return unused;
}

static void *right_first(void *unused) {
    pthread_mutex_lock(&right);
    pthread_barrier_wait(&both);
    pthread_mutex_lock(&left);
    return unused;
}

static void *holds_left(void *unused) {
    pthread_mutex_lock(&left);
    pthread_barrier_wait(&both);
    sleeps();
    return unused;
}

static void *wants_left(void *unused) {
    pthread_barrier_wait(&both);
    pthread_mutex_lock(&left);
    return unused;
}

static void *joins_with_left(void *unused) {
    pthread_mutex_lock(&left);
    pthread_barrier_wait(&both);
    pthread_join(thread[1], 0);
    return unused;
}

static void *writes(void *unused) {
    pthread_rwlock_wrlock(&table);
    pthread_barrier_wait(&both);
    sleeps();
    return unused;
}

static void *reads(void *unused) {
    pthread_rwlock_rdlock(&table);
    pthread_barrier_wait(&both);
    sleeps();
    return unused;
}

static void *wants_to_write(void *unused) {
    pthread_barrier_wait(&both);
    pthread_rwlock_wrlock(&table);
    return unused;
}

static void *wants_to_read(void *unused) {
    poll(0, 0, 50);
    pthread_rwlock_rdlock(&table);
    return unused;
}

static void *waits_for_never(void *unused) {
    pthread_mutex_lock(&left);
    pthread_cond_wait(&never, &left);
    return unused;
}

static void *waits_for_a_post(void *unused) {
    sem_wait(&empty);
    return unused;
}

static void starts(void *(*one)(void *), void *(*other)(void *)) {
    pthread_create(&thread[0], 0, one, 0);
    pthread_create(&thread[1], 0, other, 0);
}

int main(int words, char **arguments) {
    const char *mode = arguments[1], *kind = words > 2 ? arguments[2] : "";
    pthread_mutexattr_t type;
    pthread_mutexattr_init(&type);
    if (!strcmp(kind, "robust"))
        pthread_mutexattr_setrobust(&type, PTHREAD_MUTEX_ROBUST);
    else if (!strcmp(kind, "inherit"))
        pthread_mutexattr_setprotocol(&type, PTHREAD_PRIO_INHERIT);
    else if (!strcmp(kind, "recursive"))
        pthread_mutexattr_settype(&type, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&left, &type);
    pthread_mutex_init(&right, &type);
    pthread_barrier_init(&both, 0, 2);
    sem_init(&empty, 0, 0);
    if (!strcmp(mode, "circle"))
        starts(left_first, right_first);
    else if (!strcmp(mode, "hold"))
        starts(holds_left, wants_left);
    else if (!strcmp(mode, "join"))
        starts(joins_with_left, wants_left);
    else if (!strcmp(mode, "events"))
        starts(waits_for_never, waits_for_a_post);
    else if (!strcmp(mode, "writer"))
        starts(writes, wants_to_write);
    else if (!strcmp(mode, "reader"))
        starts(reads, wants_to_write);
    else
        return 0;
    if (!strcmp(mode, "writer"))
        pthread_create(&thread[2], 0, wants_to_read, 0);
    if (!strcmp(kind, "ends"))
        poll(0, 0, arguments[3][0] - '0');
    else
        sleeps();
    return 0;
}
