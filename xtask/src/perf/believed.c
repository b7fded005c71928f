/* Lets the locks of a process believe in another number of CPUs. They count the CPUs once, in a constructor, by
 * sched_getaffinity, before anybody else in the process asks: the first call here is theirs and is answered with the
 * number in TURNWISE_PERF_CPUS, and all others get the truth. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set)
{
    static atomic_flag asked = ATOMIC_FLAG_INIT;
    const char *believed = getenv("TURNWISE_PERF_CPUS");
    if (believed && !atomic_flag_test_and_set(&asked)) {
        memset(set, 0, size);
        for (size_t cpu = 0, all = strtoul(believed, NULL, 10); cpu < all && cpu < 8 * size; cpu++)
            CPU_SET_S(cpu, size, set);
        return 0;
    }
    long bytes = syscall(SYS_sched_getaffinity, pid, size, set);
    if (bytes < 0)
        return -1;
    memset((char *)set + bytes, 0, size - (size_t)bytes);
    return 0;
}
