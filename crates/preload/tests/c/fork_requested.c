/* A thread that has waited long may have requested a hand-off when the owner forks. The child has no such thread: the
   lock must be free there once the owner's copy releases it, and whoever waits for it by then must be woken. */
#include "check.h"
#include <sys/wait.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int stop;

static void *wants_it(void *unused)
{
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        pthread_mutex_lock(&mutex);
        pthread_mutex_unlock(&mutex);
        sleep_ms(1);
    }
    return unused;
}

/* Releases and takes it back at once, so that waiters are overtaken; after some of these there is a request. */
static void overtake(int often)
{
    for (int i = 0; i < often; i++) {
        sleep_ms(5);
        pthread_mutex_unlock(&mutex);
        pthread_mutex_lock(&mutex);
    }
    sleep_ms(2);
}

static void *wants_it_once(void *unused)
{
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    return unused;
}

/* Its time is out while the promise has not lapsed yet; then it leaves the others to themselves. */
static void *wants_it_soon(void *unused)
{
    struct timespec soon = in_ns(CLOCK_REALTIME, 70 * MS);
    if (pthread_mutex_timedlock(&mutex, &soon) == 0)
        pthread_mutex_unlock(&mutex);
    return unused;
}

static void nothing(int signal)
{
    (void)signal;
}

/* From now on signals interrupt the sleeps of all threads but this. */
static void signals_to_others(void)
{
    struct sigaction action = {.sa_handler = nothing};
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    struct itimerspec often = {.it_interval.tv_nsec = 5 * MS, .it_value.tv_nsec = 5 * MS};
    timer_t timer;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    CHECK_EQ(pthread_sigmask(SIG_BLOCK, &set, NULL), 0);
    CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
    CHECK_EQ(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
    CHECK_EQ(timer_settime(timer, 0, &often, NULL), 0);
}

static void child(int has_signals)
{
    alarm(20);
    pthread_t sleepers[3];
    for (int i = 0; i < 3; i++) {
        sleepers[i] = start(i == 0 ? wants_it_soon : wants_it_once, NULL);
        sleep_ms(15);
    }
    if (has_signals)
        signals_to_others();
    pthread_mutex_unlock(&mutex);
    for (int i = 0; i < 3; i++)
        CHECK_EQ(pthread_join(sleepers[i], NULL), 0);
    for (int i = 0; i < 100; i++) {
        pthread_mutex_lock(&mutex);
        pthread_mutex_unlock(&mutex);
    }
    in_thread(wants_it, (stop = 1, NULL));
    CHECK_EQ(pthread_mutex_trylock(&mutex), 0);
    _exit(0);
}

int main(void)
{
    pthread_t threads[3];
    pthread_mutex_lock(&mutex);
    for (int i = 0; i < 3; i++)
        threads[i] = start(wants_it, NULL);
    for (int i = 0; i < times(8); i++) {
        overtake(1 + i);
        pid_t pid = fork();
        if (pid == 0)
            child(i % 2);
        int status;
        CHECK_EQ(waitpid(pid, &status, 0), pid);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&mutex);
    for (int i = 0; i < 3; i++)
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
    return 0;
}
