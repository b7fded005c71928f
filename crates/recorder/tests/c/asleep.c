/*
 * Sleeps that are no pthread lock's, known beforehand: `asleep NAME`. The test (tests/asleep) compares the recording.
 * `answers`, `handler`, `cancel` and `fork` check what the calls return: it is what the kernel and the C library say.
 */
#define _GNU_SOURCE
#include "sleeps.h"
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif

sem_t items, never;
pthread_barrier_t gate;
pthread_once_t once = PTHREAD_ONCE_INIT;
unsigned word, other;
static atomic_int tids[2];

static void check(int right, const char *what, int line)
{
    if (!right) {
        fprintf(stderr, "line %d: wrong: %s (errno %d)\n", line, what, errno);
        exit(1);
    }
}
#define CHECK(what) check((what), #what, __LINE__)

#define futex(at, op, value, time, second, third) \
    syscall(SYS_futex, (at), (op), (unsigned)(value), (void *)(time), (void *)(second), (unsigned)(third))

static pthread_t start(void *(*run)(void *))
{
    pthread_t id;
    CHECK(pthread_create(&id, NULL, run, NULL) == 0);
    return id;
}

static void *consume(void *unused)
{
    tids[0] = my_tid();
    for (int i = 0; i < 3; i++)
        sem_wait(&items);
    return unused;
}

static struct timespec in_ms(long ms)
{
    struct timespec at;
    clock_gettime(CLOCK_REALTIME, &at);
    at.tv_nsec += ms * 1000000;
    at.tv_sec += at.tv_nsec / 1000000000;
    at.tv_nsec %= 1000000000;
    return at;
}

static void semaphore(void)
{
    pthread_t id = start(consume);
    for (int i = 0; i < 3; i++) {
        await_asleep(&tids[0]);
        sem_post(&items);
        for (int value = 1; value;)
            sem_getvalue(&items, &value);
    }
    pthread_join(id, NULL);
    sem_post(&items);
    CHECK(sem_wait(&items) == 0 && sem_trywait(&items) == -1 && errno == EAGAIN);
    for (int i = 0; i < 2; i++) {
        struct timespec at = in_ms(50);
        CHECK(sem_timedwait(&never, &at) == -1 && errno == ETIMEDOUT);
    }
}

static void *arrive(void *unused)
{
    tids[0] = my_tid();
    CHECK(pthread_barrier_wait(&gate) == 0);
    return unused;
}

static void barrier(void)
{
    pthread_t id = start(arrive);
    await_asleep(&tids[0]);
    CHECK(pthread_barrier_wait(&gate) == PTHREAD_BARRIER_SERIAL_THREAD);
    pthread_join(id, NULL);
}

static void *end_late(void *unused)
{
    await_asleep(&tids[0]);
    return unused;
}

static void join(void)
{
    pthread_t id = start(end_late);
    tids[0] = my_tid();
    void *result = &id;
    CHECK(pthread_join(id, &result) == 0 && result == NULL);
    CHECK(pthread_join(pthread_self(), NULL) == EDEADLK);
}

static void initialise(void)
{
    tids[0] = my_tid();
    await_asleep(&tids[1]);
}

static void *use_first(void *unused)
{
    pthread_once(&once, initialise);
    return unused;
}

static void *use_second(void *unused)
{
    while (!tids[0])
        sched_yield();
    tids[1] = my_tid();
    pthread_once(&once, initialise);
    return unused;
}

static void run_once(void)
{
    pthread_t first = start(use_first), second = start(use_second);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
}

static void *sleep_on_word(void *unused)
{
    tids[0] = my_tid();
    while (__atomic_load_n(&word, __ATOMIC_SEQ_CST) == 0)
        futex(&word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
    return unused;
}

__attribute__((noinline)) static void release(void)
{
    futex(&word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void futexes(void)
{
    pthread_t id = start(sleep_on_word);
    await_asleep(&tids[0]);
    word = 1;
    release();
    pthread_join(id, NULL);
    for (int i = 0; i < 5; i++)
        release();
}

static void answers(void)
{
    struct timespec short_time = {.tv_nsec = 1000000}, wrong_time = {.tv_nsec = -1};
    unsigned *nowhere = (unsigned *)8;
    errno = 77;
    CHECK(futex(&word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0) == 0 && errno == 77);
    CHECK(futex(&word, FUTEX_REQUEUE_PRIVATE, 1, (void *)1, &other, 0) == 0 && errno == 77);
    CHECK(futex(&word, FUTEX_WAIT_PRIVATE, 1, NULL, NULL, 0) == -1 && errno == EAGAIN);
    CHECK(futex(&word, FUTEX_WAIT_PRIVATE, 0, &short_time, NULL, 0) == -1 && errno == ETIMEDOUT);
    CHECK(futex(&word, FUTEX_WAIT_PRIVATE, 0, &wrong_time, NULL, 0) == -1 && errno == EINVAL);
    CHECK(futex(&word, FUTEX_WAIT_BITSET_PRIVATE, 0, NULL, NULL, 0) == -1 && errno == EINVAL);
    CHECK(futex(&word, FUTEX_WAIT_BITSET_PRIVATE, 0, &short_time, NULL, ~0u) == -1 && errno == ETIMEDOUT);
    CHECK(futex(nowhere, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0) == -1 && errno == EFAULT);
    CHECK(futex((void *)((char *)&word + 1), FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0) == -1 && errno == EINVAL);
    CHECK(futex((void *)((char *)&word + 1), FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0) == -1 && errno == EINVAL);
    CHECK(futex(&word, FUTEX_CMP_REQUEUE_PRIVATE, 1, (void *)1, &other, 5) == -1 && errno == EAGAIN);
    CHECK(futex(&word, FUTEX_CMP_REQUEUE_PRIVATE, 1, (void *)1, &other, 0) == 0);
    CHECK(futex(&word, FUTEX_UNLOCK_PI_PRIVATE, 0, NULL, NULL, 0) == -1 && errno == EPERM);
    unsigned owned = (unsigned)syscall(SYS_gettid);
    CHECK(futex(&owned, FUTEX_LOCK_PI_PRIVATE, 0, NULL, NULL, 0) == -1 && errno == EDEADLK);
    CHECK(futex(&owned, FUTEX_UNLOCK_PI_PRIVATE, 0, NULL, NULL, 0) == 0 && owned == 0);
    CHECK(futex(&word, 2, 0, NULL, NULL, 0) == -1 && errno == ENOSYS);
    CHECK(futex(&word, 99, 0, NULL, NULL, 0) == -1 && errno == ENOSYS);
    CHECK(syscall(-1) == -1 && errno == ENOSYS);
    struct timespec late = {.tv_sec = 1}, never_valid = {.tv_nsec = 1000000000};
    CHECK(sem_timedwait(&never, &late) == -1 && errno == ETIMEDOUT);
    CHECK(sem_timedwait(&never, &never_valid) == -1 && errno == EINVAL);
    CHECK(syscall(SYS_futex_waitv, nowhere, 0, 0, NULL, 0) == -1 && (errno == EINVAL || errno == ENOSYS));
    if (errno == ENOSYS)
        return;
    CHECK(syscall(SYS_futex_waitv, nowhere, 1, 0, NULL, 0) == -1 && errno == EFAULT);
    struct waited {
        uint64_t value, address;
        uint32_t flags, reserved;
    } two[] = {{.address = (uintptr_t)&other, .flags = 2 | 128}, {.address = (uintptr_t)&word, .flags = 2 | 128}};
    struct timespec at = in_ms(5);
    CHECK(syscall(SYS_futex_waitv, two, 2, 0, &at, CLOCK_REALTIME) == -1 && errno == ETIMEDOUT);
}

static volatile int posted;

static void post(int signal)
{
    (void)signal;
    int saved = errno;
    CHECK(futex(&other, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0) == 0);
    sem_post(&items);
    posted++;
    errno = saved;
}

/* What the handler interrupts is often the recorder. */
static void handler(void)
{
    struct sigaction action = {.sa_handler = post};
    struct itimerval often = {.it_interval = {.tv_usec = 150}, .it_value = {.tv_usec = 150}}, off = {0};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    for (int taken = 0; taken < 1000; taken++) {
        while (sem_wait(&items) == -1)
            CHECK(errno == EINTR);
        long result = futex(&word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
        CHECK(result == -1 && errno == EINTR);
        futex(&word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    }
    setitimer(ITIMER_REAL, &off, NULL);
    CHECK(posted >= 1000);
}

static void *until_cancelled(void *unused)
{
    tids[0] = my_tid();
    sem_wait(&never);
    return unused;
}

static void *until_cancelled_anywhere(void *unused)
{
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    tids[1] = my_tid();
    futex(&word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
    return unused;
}

static void cancel(void)
{
    pthread_t ids[2] = {start(until_cancelled), start(until_cancelled_anywhere)};
    for (int i = 0; i < 2; i++) {
        void *result = NULL;
        await_asleep(&tids[i]);
        CHECK(pthread_cancel(ids[i]) == 0 && pthread_join(ids[i], &result) == 0 && result == PTHREAD_CANCELED);
    }
}

static void child(void)
{
    semaphore();
    pid_t pid = fork();
    if (pid == 0) {
        answers();
        tids[0] = 0;
        futexes();
        _exit(0);
    }
    int status;
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } all[] = {
        {"semaphore", semaphore}, {"barrier", barrier}, {"join", join},   {"once", run_once}, {"futexes", futexes},
        {"answers", answers},     {"handler", handler}, {"cancel", cancel}, {"fork", child},
    };
    CHECK(argc == 2 && sem_init(&items, 0, 0) == 0 && sem_init(&never, 0, 0) == 0);
    CHECK(pthread_barrier_init(&gate, NULL, 2) == 0);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (!strcmp(argv[1], all[i].name))
            all[i].run();
    return 0;
}
