/* What the kernel does for locks, and qemu's user mode does not, tried. */
#ifndef KERNEL_H
#define KERNEL_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Whether it knows which robust mutexes a thread has. */
static inline int keeps_robust_lists(void)
{
    void *head;
    size_t length;
    return syscall(SYS_get_robust_list, 0, &head, &length) == 0;
}

/* Whether a page that is to be wiped in a child is. qemu's user mode says yes, and does not. */
static inline int wipes_pages_in_children(void)
{
    int *page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED || madvise(page, sizeof *page, MADV_WIPEONFORK) != 0)
        return 0;
    *page = 1;
    pid_t child = fork();
    if (child == 0)
        _exit(*page);
    int status = 1;
    waitpid(child, &status, 0);
    munmap(page, sizeof *page);
    return status == 0;
}

/* Says, where the tests' harness looks for it, what is left out. */
static inline void skipped(const char *why)
{
    printf("SKIPPED: %s\n", why);
    fflush(stdout);
}

#endif
