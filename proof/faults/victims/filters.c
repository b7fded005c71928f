/* Filters of system calls that a victim puts over itself: see deeds.h. A deed is "deny:WHAT:HOW:WHEN". WHAT is not
   allowed: one kind of call, of which the C library's locks make none, or "rest", all but what those do. HOW: the
   filter ends the process ("kill"), sends a signal whose handler says which call it was and ends it ("trap"), or
   answers EPERM ("refuse"). WHEN: for all threads at once while they fight ("tsync"), or before the program starts
   ("exec"). */
#include "deeds.h"
#include <limits.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <ucontext.h>

enum { LONGEST = 128, CLOCKS = 16, ANY = -1 };

static struct sock_filter code[LONGEST];
static unsigned short at;
static uint32_t action;

static void put(unsigned short what, uint32_t value, unsigned char if_so, unsigned char otherwise)
{
    code[at++] = (struct sock_filter){what, if_so, otherwise, value};
}

static void load(size_t offset)
{
    put(BPF_LD | BPF_W | BPF_ABS, offset, 0, 0);
}

static void load_argument(int number)
{
    load(offsetof(struct seccomp_data, args) + 8 * number); /* the low half: little endian */
}

/* Skips so many instructions for any other call. */
static void for_call(long number, int length)
{
    load(offsetof(struct seccomp_data, nr));
    put(BPF_JMP | BPF_JEQ | BPF_K, number, 0, length);
}

static void deny(void)
{
    put(BPF_RET | BPF_K, action, 0, 0);
}

static void deny_call(long number)
{
    for_call(number, 1);
    deny();
}

/* The clocks of single threads and processes, and of devices, have numbers that are made as needed. */
static void deny_dynamic_clocks(void)
{
    for_call(SYS_clock_gettime, 3);
    load_argument(0);
    put(BPF_JMP | BPF_JGE | BPF_K, CLOCKS, 0, 1);
    deny();
}

/* All but what the C library does with its locks and threads, with a bit set and a time only as it has them. */
static void deny_futex_operations(void)
{
    static const int own[] = {
        FUTEX_WAIT,
        FUTEX_WAKE,
        FUTEX_WAIT | FUTEX_PRIVATE_FLAG,
        FUTEX_WAKE | FUTEX_PRIVATE_FLAG,
        FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG,
        FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME,
        FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME | FUTEX_PRIVATE_FLAG,
    };
    const int n = sizeof own / sizeof *own;
    for_call(SYS_futex, n + 2);
    load_argument(1);
    for (int i = 0; i < n; i++)
        put(BPF_JMP | BPF_JEQ | BPF_K, own[i], n - i, 0);
    deny();
    static const struct {
        uint32_t operation, argument, value;
    } fixed[] = {{FUTEX_WAIT_BITSET, 5, FUTEX_BITSET_MATCH_ANY}, {FUTEX_WAIT, 3, 0}};
    for (int i = 0; i < 2; i++) {
        for_call(SYS_futex, 6);
        load_argument(1);
        put(BPF_ALU | BPF_AND | BPF_K, FUTEX_CMD_MASK, 0, 0);
        put(BPF_JMP | BPF_JEQ | BPF_K, fixed[i].operation, 0, 3);
        load_argument(fixed[i].argument);
        put(BPF_JMP | BPF_JEQ | BPF_K, fixed[i].value, 1, 0);
        deny();
    }
}

/* What is left are calls of threads that end, and of this victim: it writes, polls and exits. */
static void deny_rest(void)
{
    static const long calls[] = {
        SYS_futex,  SYS_clock_gettime, SYS_write,   SYS_ppoll,          SYS_exit,         SYS_exit_group,
        SYS_munmap, SYS_madvise,       SYS_fstat,   SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_restart_syscall,
        SYS_mmap,   SYS_mprotect,      SYS_brk,     SYS_newfstatat,
    };
    const int n = sizeof calls / sizeof *calls;
    deny_futex_operations();
    deny_dynamic_clocks();
    load(offsetof(struct seccomp_data, nr));
    for (int i = 0; i < n; i++)
        put(BPF_JMP | BPF_JEQ | BPF_K, calls[i], n - i, 0);
    deny();
}

static void write_filter(const char *what)
{
    if (strcmp(what, "rest") == 0)
        deny_rest();
    else if (strcmp(what, "futex") == 0)
        deny_futex_operations();
    else if (strcmp(what, "clock") == 0)
        deny_dynamic_clocks();
    else if (strcmp(what, "yield") == 0)
        deny_call(SYS_sched_yield);
    else if (strcmp(what, "gettid") == 0)
        deny_call(SYS_gettid);
    else if (strcmp(what, "membarrier") == 0)
        deny_call(SYS_membarrier);
    else
        exit(2);
    put(BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
}

/* Says which call was not allowed, and ends the process. */
static void say(int number, siginfo_t *info, void *context)
{
    char text[120];
    (void)number;
#ifdef __x86_64__
    const greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
    const unsigned long op = r[REG_RSI], time = r[REG_R10], bits = r[REG_R9];
#else
    const unsigned long long *r = ((ucontext_t *)context)->uc_mcontext.regs;
    const unsigned long op = r[1], time = r[3], bits = r[5];
#endif
    int length = snprintf(text, sizeof text, "not allowed: call %d, with %#lx second, %#lx fourth, %#lx sixth\n",
                          info->si_syscall, op, time, bits);
    if (write(STDERR_FILENO, text, length) < 0)
        _exit(5);
    _exit(4);
}

static void install(const char *what, const char *how, unsigned flags)
{
    struct sigaction handler = {.sa_sigaction = say, .sa_flags = SA_SIGINFO};
    action = strcmp(how, "kill") == 0   ? SECCOMP_RET_KILL_PROCESS
             : strcmp(how, "trap") == 0 ? SECCOMP_RET_TRAP
                                        : SECCOMP_RET_ERRNO | EPERM;
    write_filter(what);
    struct sock_fprog program = {.len = at, .filter = code};
    EXPECT(sigaction(SIGSYS, &handler, NULL), 0);
    EXPECT(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    /* This announces it. A thread in the middle of making its live view would go on with that: docs/threats.md. */
    if (flags)
        rest_us(30000);
    EXPECT((int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program), 0);
    atomic_fetch_add(&board->tries, 1);
}

void rest_us(long us)
{
    struct timespec t = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};
    ppoll(NULL, 0, &t, NULL);
}

static struct {
    char what[16], how[8], when[8];
} deed;

int is_filtered(const char *name)
{
    return sscanf(name, "deny:%15[^:]:%7[^:]:%7s", deed.what, deed.how, deed.when) == 3;
}

void filter_first(char **argv)
{
    if (strcmp(deed.when, "exec") == 0 && !getenv("FILTERED")) {
        install(deed.what, deed.how, 0);
        setenv("FILTERED", "1", 1);
        execv("/proc/self/exe", argv);
        WRONG("cannot start again: %s", strerror(errno));
        exit(3);
    }
}

void filter_while_they_fight(void)
{
    struct timespec now;
    /* A thread that begins makes calls of its own. */
    for (int i = 0; i < threads && going(); i++)
        while (!atomic_load(&board->line[i].done) && going())
            rest_us(100);
    clock_gettime(CLOCK_MONOTONIC, &now);
    rest_us(now.tv_nsec / 7 % 10000);
    if (strcmp(deed.when, "tsync") == 0)
        install(deed.what, deed.how, SECCOMP_FILTER_FLAG_TSYNC);
}
