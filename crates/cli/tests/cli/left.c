/*
 * Threads that end in the middle of a lock call, while the main thread has the lock: by an asynchronous cancellation
 * (the argument "cancel"), or by a signal whose handler calls pthread_exit ("exit"). Those that stay get the lock.
 * "first": by a signal in the first wait of a process, again and again in processes of its own; the next waits no
 * longer than usual. "pending": by no lock call, though a cancellation was requested before: that ends the thread at
 * its next cancellation point.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LEAVE = 2, ALL = 3, ROUNDS = 60 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static volatile int begun, by_signal;
static long got;

static void leave(int number)
{
    (void)number;
    pthread_exit(PTHREAD_CANCELED);
}

static void *wait_once(void *unused)
{
    int type;
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type);
    __atomic_fetch_add(&begun, 1, __ATOMIC_RELAXED);
    pthread_mutex_lock(&mutex);
    pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type);
    got++;
    pthread_mutex_unlock(&mutex);
    return unused;
}

/* A lock call is no cancellation point. */
static void *wait_pending(void *unused)
{
    pthread_cancel(pthread_self());
    __atomic_fetch_add(&begun, 1, __ATOMIC_RELAXED);
    pthread_mutex_lock(&mutex);
    got++;
    pthread_mutex_unlock(&mutex);
    pthread_testcancel();
    return unused;
}

static void nap(long us)
{
    struct timespec time = {.tv_nsec = us * 1000};
    nanosleep(&time, NULL);
}

/* In a process in which no thread has waited yet: the first that does is ended after some microseconds. */
static int first_wait(long us)
{
    pthread_t thread;
    void *answer;
    struct timespec begin, end;
    pthread_mutex_lock(&mutex);
    begun = 0;
    if (pthread_create(&thread, NULL, wait_once, NULL))
        return 2;
    while (!begun)
        ;
    nap(us);
    if (pthread_kill(thread, SIGUSR1) || pthread_join(thread, &answer) || answer != PTHREAD_CANCELED)
        return 4;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    if (pthread_create(&thread, NULL, wait_once, NULL))
        return 2;
    nap(1000);
    pthread_mutex_unlock(&mutex);
    if (pthread_join(thread, &answer) || answer)
        return 5;
    clock_gettime(CLOCK_MONOTONIC, &end);
    /* A thread that waits for what is never made does so for 5 s. */
    return end.tv_sec - begin.tv_sec + (end.tv_nsec - begin.tv_nsec) / 1e9 > 4.5 ? 6 : 0;
}

static int first_waits(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        int status = 0;
        pid_t child = fork();
        if (child == 0)
            _exit(first_wait(round * 3));
        if (child < 0 || waitpid(child, &status, 0) != child || status)
            return WIFEXITED(status) ? WEXITSTATUS(status) : 7;
    }
    printf("%d first waits\n", ROUNDS);
    return 0;
}

/* In a process in which no thread has waited yet. */
static int pending_wait(void)
{
    pthread_t thread;
    void *answer;
    pthread_mutex_lock(&mutex);
    if (pthread_create(&thread, NULL, wait_pending, NULL))
        return 2;
    while (!begun)
        ;
    nap(20000);
    pthread_mutex_unlock(&mutex);
    if (pthread_join(thread, &answer) || answer != PTHREAD_CANCELED)
        return 4;
    printf("%ld got the lock\n", got);
    return got != 1;
}

int main(int count, char **arguments)
{
    struct sigaction action = {.sa_handler = leave};
    by_signal = count > 1 && !strcmp(arguments[1], "exit");
    sigaction(SIGUSR1, &action, NULL);
    alarm(100);
    if (count > 1 && !strcmp(arguments[1], "first"))
        return first_waits();
    if (count > 1 && !strcmp(arguments[1], "pending"))
        return pending_wait();
    for (int round = 0; round < ROUNDS; round++) {
        pthread_t threads[ALL];
        void *answer;
        pthread_mutex_lock(&mutex);
        begun = 0;
        for (int i = 0; i < ALL; i++)
            if (pthread_create(&threads[i], NULL, wait_once, NULL))
                return 2;
        while (begun < ALL)
            nap(1);
        nap(round * 7 % 200); /* among the spinners, or asleep */
        for (int i = 0; i < LEAVE; i++)
            if (by_signal ? pthread_kill(threads[i], SIGUSR1) : pthread_cancel(threads[i]))
                return 3;
        for (int i = 0; i < LEAVE; i++)
            if (pthread_join(threads[i], &answer) || answer != PTHREAD_CANCELED)
                return 4;
        pthread_mutex_unlock(&mutex);
        if (pthread_join(threads[LEAVE], &answer) || answer)
            return 5;
    }
    printf("%ld got the lock\n", got);
    return got != ROUNDS;
}
