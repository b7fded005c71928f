/* A library that tells programs another time, AHEAD seconds ahead, and turns the deadlines that they make of it into
   the kernel's, for one function, as libfaketime does. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

typedef int timedwait(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);

static long ahead(void)
{
    const char *seconds = getenv("AHEAD");
    return seconds ? atol(seconds) : 0;
}

int clock_gettime(clockid_t clock, struct timespec *time)
{
    int answer = syscall(SYS_clock_gettime, clock, time);
    time->tv_sec += ahead();
    return answer;
}

int pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *time)
{
    struct timespec real = {.tv_sec = time->tv_sec - ahead(), .tv_nsec = time->tv_nsec};
#ifdef __x86_64__
    timedwait *next = (timedwait *)dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2");
#else
    timedwait *next = (timedwait *)dlsym(RTLD_NEXT, "pthread_cond_timedwait");
#endif
    return next(cond, mutex, &real);
}
