/* Threads that have locks are cancelled at the cancellation points of the C library: their handlers release the locks,
   and the locks are as good as before. */
#include "check.h"
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/wait.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static pthread_mutex_t of_never = PTHREAD_MUTEX_INITIALIZER;
static int silent[2], listening, ready;
static pthread_t sleeper;

/* A function that makes one call and should never return from it. */
#define CALL(name, ...)                                                                                                \
    static void name(void)                                                                                             \
    {                                                                                                                  \
        __VA_ARGS__;                                                                                                   \
    }
CALL(in_pause, pause())
CALL(in_sleep, sleep(100))
CALL(in_nanosleep, nanosleep(&(struct timespec){.tv_sec = 100}, NULL))
CALL(in_clock_nanosleep, clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){.tv_sec = 100}, NULL))
CALL(in_poll, poll(NULL, 0, -1))
CALL(in_select, select(0, NULL, NULL, NULL, NULL))
CALL(in_accept, accept(listening, NULL, NULL))
CALL(in_join, pthread_join(sleeper, NULL))

static void in_read(void)
{
    char byte;
    CHECK_EQ(read(silent[0], &byte, 1), 1);
}

static void in_recv(void)
{
    char byte;
    CHECK_EQ(recv(silent[0], &byte, 1, 0), 1);
}

static void in_sem_wait(void)
{
    sem_t semaphore;
    CHECK_EQ(sem_init(&semaphore, 0, 0), 0);
    sem_wait(&semaphore);
}

static void in_sigwait(void)
{
    sigset_t none;
    int found;
    sigemptyset(&none);
    sigaddset(&none, SIGUSR2);
    sigwait(&none, &found);
}

static void in_testcancel(void)
{
    for (;;)
        pthread_testcancel();
}

static void unlock_of_never(void *unused)
{
    (void)unused;
    CHECK_EQ(pthread_mutex_unlock(&of_never), 0);
}

static void in_cond_wait(void)
{
    CHECK_EQ(pthread_mutex_lock(&of_never), 0);
    pthread_cleanup_push(unlock_of_never, NULL);
    for (;;)
        pthread_cond_wait(&never, &of_never);
    pthread_cleanup_pop(1);
}

static void (*const points[])(void) = {
    in_pause,  in_sleep,    in_nanosleep, in_clock_nanosleep, in_poll, in_select,
    in_accept, in_join,     in_read,      in_recv,            in_sem_wait, in_sigwait,
    in_testcancel, in_cond_wait,
};

static void release(void *unused)
{
    (void)unused;
    CHECK_EQ(pthread_rwlock_unlock(&rwlock), 0);
    CHECK_EQ(pthread_mutex_unlock(&recursive), 0);
    CHECK_EQ(pthread_mutex_unlock(&recursive), 0);
    CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
}

static void *stays(void *point)
{
    CHECK_EQ(pthread_mutex_lock(&mutex), 0);
    CHECK_EQ(pthread_mutex_lock(&recursive), 0);
    CHECK_EQ(pthread_mutex_lock(&recursive), 0);
    CHECK_EQ(pthread_rwlock_wrlock(&rwlock), 0);
    pthread_cleanup_push(release, NULL);
    __atomic_store_n(&ready, 1, __ATOMIC_SEQ_CST);
    (*(void (*const *)(void))point)();
    CHECK(!"came back from a cancelled call");
    pthread_cleanup_pop(1);
    return NULL;
}

static void *waits_for_both(void *unused)
{
    CHECK_EQ(pthread_mutex_lock(&mutex), 0);
    CHECK_EQ(pthread_mutex_lock(&recursive), 0);
    CHECK_EQ(pthread_rwlock_rdlock(&rwlock), 0);
    CHECK_EQ(pthread_rwlock_unlock(&rwlock), 0);
    CHECK_EQ(pthread_mutex_unlock(&recursive), 0);
    CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
    return unused;
}

static void check(void (*const *point)(void))
{
    void *result;
    ready = 0;
    pthread_t thread = start(stays, (void *)point);
    while (!__atomic_load_n(&ready, __ATOMIC_SEQ_CST))
        sleep_ms(1);
    pthread_t waiter = start(waits_for_both, NULL);
    sleep_ms(3);
    CHECK_EQ(pthread_cancel(thread), 0);
    CHECK_EQ(pthread_join(thread, &result), 0);
    CHECK(result == PTHREAD_CANCELED);
    CHECK_EQ(pthread_join(waiter, NULL), 0);
    in_thread(waits_for_both, NULL);
}

static void *sleeps(void *unused)
{
    for (;;)
        pause();
    return unused;
}

int main(void)
{
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR2);
    CHECK_EQ(pthread_sigmask(SIG_BLOCK, &blocked, NULL), 0);
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, silent), 0);
    listening = socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK(listening >= 0);
    CHECK_EQ(bind(listening, &(struct sockaddr){.sa_family = AF_UNIX}, sizeof(sa_family_t)), 0);
    CHECK_EQ(listen(listening, 1), 0);
    sleeper = start(sleeps, NULL);
    for (unsigned i = 0; i < sizeof points / sizeof *points; i++)
        check(&points[i]);
    CHECK_EQ(pthread_cancel(sleeper), 0);
    return 0;
}
