/* A thread that has waited long may have claimed the next turn when the owner forks. The child has no such thread: the
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

/* Releases and takes it back at once, so that waiters are overtaken. */
static void overtake(void)
{
    for (int i = 0; i < 4; i++) {
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

static void child(void)
{
    alarm(20);
    pthread_t sleepers[3];
    for (int i = 0; i < 3; i++) {
        sleepers[i] = start(i == 0 ? wants_it_soon : wants_it_once, NULL);
        sleep_ms(15);
    }
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
        overtake();
        pid_t pid = fork();
        if (pid == 0)
            child();
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
