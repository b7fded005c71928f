/* Waits in futex calls whose number and least length are known: whoever wakes looks first whether the waiter sleeps,
   and then takes 10 ms. Without arguments: one thread waits 8 times. With "attach": a thread waits; after a line on
   standard input it is woken 5 times, and so is a second, new one; then the program stays until its input ends. */
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

_Atomic uint32_t gate, late;
static _Atomic int waiter;

static long futex_call(_Atomic uint32_t *word, int operation, uint32_t value)
{
    return syscall(SYS_futex, word, operation | FUTEX_PRIVATE_FLAG, value, NULL, NULL, 0);
}

__attribute__((noinline)) void await_change(_Atomic uint32_t *word, uint32_t seen)
{
    while (*word == seen)
        futex_call(word, FUTEX_WAIT, seen);
}

static void *wait_often(void *argument)
{
    _Atomic uint32_t *word = argument;
    waiter = (int)syscall(SYS_gettid);
    for (uint32_t seen = 0;; seen++)
        await_change(word, seen);
    return NULL;
}

/* Sleeping, it can only be in its wait. */
static int sleeps(int thread)
{
    char name[64], text[512] = "";
    snprintf(name, sizeof name, "/proc/self/task/%d/stat", thread);
    FILE *file = fopen(name, "r");
    if (file == NULL)
        return 0;
    size_t bytes = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    while (bytes > 0 && text[bytes - 1] != ')')
        bytes--;
    return text[bytes + 1] == 'S';
}

static void nap(long ns)
{
    struct timespec time = {0, ns};
    nanosleep(&time, NULL);
}

__attribute__((noinline)) void open_slowly(_Atomic uint32_t *word, int thread)
{
    while (!sleeps(thread))
        nap(500 * 1000);
    nap(10 * 1000 * 1000);
    ++*word;
    futex_call(word, FUTEX_WAKE, 1);
}

static int start(_Atomic uint32_t *word)
{
    pthread_t thread;
    waiter = 0;
    if (pthread_create(&thread, NULL, wait_often, word) != 0)
        return 0;
    pthread_detach(thread);
    while (waiter == 0)
        nap(100 * 1000);
    return waiter;
}

static void open_often(_Atomic uint32_t *word, int thread, int times)
{
    for (int time = 0; time < times; time++)
        open_slowly(word, thread);
    while (!sleeps(thread))
        nap(500 * 1000);
}

int main(int number, char **words)
{
    (void)words;
    char line[16];
    int first = start(&gate);
    if (number == 1) {
        open_often(&gate, first, 8);
        return 3;
    }
    puts("ready");
    fflush(stdout);
    if (fgets(line, sizeof line, stdin) == NULL)
        return 1;
    open_often(&gate, first, 5);
    open_often(&late, start(&late), 5);
    puts("done");
    fflush(stdout);
    return fgets(line, sizeof line, stdin) != NULL;
}
