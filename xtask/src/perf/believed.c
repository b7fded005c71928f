/* Lets the locks of a process believe in another number of CPUs: whoever asks which CPUs this process may use is told
 * of as many as TURNWISE_PERF_CPUS says, at the first question and at every later one, since locks may count again.
 * Who needs the truth, to keep a thread on a CPU, makes the system call itself. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set)
{
    const char *believed = getenv("TURNWISE_PERF_CPUS");
    if (believed) {
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
