/* Whether a thread sleeps. Needs _GNU_SOURCE. */
#ifndef SLEEPS_H
#define SLEEPS_H

#ifdef __cplusplus
#include <atomic>
using std::atomic_int;
#else
#include <stdatomic.h>
#endif
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline int my_tid(void)
{
    return (int)syscall(SYS_gettid);
}

/* Whether a thread sleeps, as the system sees it. */
static inline int sleeps(int tid)
{
    char name[64], text[512], *end;
    snprintf(name, sizeof name, "/proc/self/task/%d/stat", tid);
    FILE *file = fopen(name, "r");
    size_t length = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file)
        fclose(file);
    text[length] = 0;
    end = strrchr(text, ')');
    return end && end[2] == 'S';
}

/* Until a thread has said who it is and sleeps. */
static inline void await_asleep(atomic_int *tid)
{
    while (*tid == 0 || !sleeps(*tid))
        usleep(1000);
}

#endif
