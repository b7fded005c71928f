/* fork in a program with threads: handlers that take locks, and a child that goes on working with them. */
#include "check.h"
#include <sys/wait.h>

static pthread_mutex_t normal = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t other = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int stop, work;

static void take(void)
{
    pthread_mutex_lock(&normal);
    pthread_mutex_lock(&other);
}

static void give(void)
{
    pthread_mutex_unlock(&other);
    pthread_mutex_unlock(&normal);
}

/* Keeps both locks contended all the time. */
static void *contend(void *unused)
{
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        pthread_mutex_lock(&normal);
        work++;
        pthread_mutex_lock(&other);
        pthread_mutex_unlock(&other);
        pthread_mutex_unlock(&normal);
    }
    return unused;
}

static int child_work, child_go;
static void *in_child(void *unused)
{
    for (int i = 0; i < times(200); i++) {
        pthread_mutex_lock(&normal);
        child_work++;
        pthread_mutex_unlock(&normal);
    }
    pthread_mutex_lock(&other);
    while (!child_go)
        pthread_cond_wait(&cond, &other);
    pthread_mutex_unlock(&other);
    return unused;
}

/* The child starts threads of its own, which use the same locks. */
static void child(void)
{
    pthread_t threads[3];
    alarm(30); /* a child that hangs must not outlive the test */
    for (int i = 0; i < 3; i++)
        threads[i] = start(in_child, NULL);
    sleep_ms(1);
    pthread_mutex_lock(&other);
    child_go = 1;
    pthread_cond_broadcast(&cond);
    pthread_mutex_unlock(&other);
    for (int i = 0; i < 3; i++)
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
    CHECK_EQ(child_work, 3 * times(200));
    _exit(0);
}

int main(void)
{
    enum { THREADS = 4, FORKS = 25 };
    pthread_t threads[THREADS];
    CHECK_EQ(pthread_atfork(take, give, give), 0);
    for (int i = 0; i < THREADS; i++)
        threads[i] = start(contend, NULL);
    for (int i = 0; i < times(FORKS); i++) {
        sleep_ms(2);
        pid_t pid = fork();
        CHECK(pid >= 0);
        if (pid == 0)
            child();
        int status;
        CHECK_EQ(waitpid(pid, &status, 0), pid);
        CHECK(WIFEXITED(status));
        CHECK_EQ(WEXITSTATUS(status), 0);
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < THREADS; i++)
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
    return 0;
}
