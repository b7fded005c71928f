/* Asks for the CPUs that it may use: three times as a program does, and once by the system call. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(void)
{
    cpu_set_t set;
    for (int i = 0; i < 3; i++) {
        sched_getaffinity(0, sizeof set, &set);
        printf("%d ", CPU_COUNT(&set));
    }
    memset(&set, 0, sizeof set);
    syscall(SYS_sched_getaffinity, 0, sizeof set, &set);
    printf("%d", CPU_COUNT(&set));
}
