/* Threads in a deadlock over two mutexes, one at a condition variable that nobody signals, and the first, which waits
   for a deadlocked one to end. With "joins": one thread, which ends when the first waits for it; then both are gone.
   With "leaves": the deadlock alone; the first thread has ended. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

pthread_mutex_t first_lock = PTHREAD_MUTEX_INITIALIZER, second_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t idle_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t idle = PTHREAD_COND_INITIALIZER;
static _Atomic int holding;

static void nap(void)
{
    struct timespec time = {0, 500 * 1000};
    nanosleep(&time, NULL);
}

static void await_both(void)
{
    for (holding++; holding < 2;)
        nap();
}

__attribute__((noinline)) void take_second(void)
{
    pthread_mutex_lock(&second_lock);
    pthread_mutex_unlock(&second_lock);
}

__attribute__((noinline)) void take_first(void)
{
    pthread_mutex_lock(&first_lock);
    pthread_mutex_unlock(&first_lock);
}

static void *first_then_second(void *argument)
{
    pthread_mutex_lock(&first_lock);
    await_both();
    take_second();
    return argument;
}

static void *second_then_first(void *argument)
{
    pthread_mutex_lock(&second_lock);
    await_both();
    take_first();
    return argument;
}

static void *be_idle(void *argument)
{
    pthread_mutex_lock(&idle_lock);
    for (;;)
        pthread_cond_wait(&idle, &idle_lock);
    return argument;
}

/* Until the first thread sleeps: it can only be in its join. */
static void *end_late(void *argument)
{
    char name[64], line[64] = "";
    snprintf(name, sizeof name, "/proc/self/task/%d/syscall", (int)getpid());
    int call = -1;
    while (call != SYS_futex) {
        nap();
        FILE *file = fopen(name, "r");
        if (file == NULL)
            return NULL;
        if (fgets(line, sizeof line, file) == NULL || sscanf(line, "%d", &call) != 1)
            call = -1;
        fclose(file);
    }
    nap();
    return argument;
}

static int start(pthread_t *thread, void *(*run)(void *))
{
    return pthread_create(thread, NULL, run, NULL);
}

int main(int number, char **words)
{
    pthread_t one, other, third;
    if (number > 1 && strcmp(words[1], "joins") == 0)
        return start(&one, end_late) || pthread_join(one, NULL);
    if (start(&one, first_then_second) || start(&other, second_then_first))
        return 1;
    if (number > 1)
        pthread_exit(NULL);
    return start(&third, be_idle) || pthread_join(one, NULL);
}
