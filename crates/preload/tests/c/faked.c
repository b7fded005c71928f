/* A timed wait beside a library that fakes the clock takes its time: not less, and not an hour. A mutex's deadline,
   which that library does not turn, is the kernel's, as with the C library. */
#include "check.h"
#include <sys/syscall.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;

static int64_t kernels_ns(void)
{
    struct timespec time;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void *wait_for_mutex(void *unused)
{
    struct timespec time;
    int64_t begin = kernels_ns();
    syscall(SYS_clock_gettime, CLOCK_REALTIME, &time);
    time.tv_nsec += 60 * MS;
    time.tv_sec += time.tv_nsec / 1000000000;
    time.tv_nsec %= 1000000000;
    CHECK_EQ(pthread_mutex_timedlock(&mutex, &time), ETIMEDOUT);
    CHECK(kernels_ns() - begin >= 59 * MS);
    return unused;
}

int main(void)
{
    pthread_t thread;
    alarm(60);
    CHECK_EQ(pthread_mutex_lock(&mutex), 0);
    struct timespec time = in_ns(CLOCK_REALTIME, 60 * MS);
    int64_t begin = kernels_ns();
    CHECK_EQ(pthread_cond_timedwait(&cond, &mutex, &time), ETIMEDOUT);
    CHECK(kernels_ns() - begin >= 59 * MS);
    CHECK_EQ(pthread_create(&thread, NULL, wait_for_mutex, NULL), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    return 0;
}
