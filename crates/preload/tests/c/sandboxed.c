/*
 * A program that gives up all system calls but those that it makes with the C library's locks, with their very
 * operations: a server's sandbox. Arguments: when it does so, "before" any contention or "after" some; the kind of
 * lock; how, by "prctl" or "syscall"; and what then comes of another call: "kill", "trap" or "errno".
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 6, LOCKS = 100, FEW = 1000, MANY = 30000, TURNS = 100 };

static pthread_mutex_t mutexes[LOCKS];
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_spinlock_t spin;
static pthread_barrier_t barrier;
static const char *kind;
static int is_before;
static long counts[LOCKS], turn;

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

/* Allows some calls, and of `futex` the operations of the C library's locks, threads and barriers. */
static void filter(const char *how, const char *otherwise)
{
    static const int calls[] = {SYS_read,       SYS_write,  SYS_exit,   SYS_exit_group, SYS_munmap,        SYS_mmap,
                                SYS_mprotect,   SYS_madvise, SYS_brk,   SYS_rt_sigreturn, SYS_rt_sigprocmask,
                                SYS_newfstatat, SYS_ioctl};
    static const int ops[] = {
        FUTEX_WAIT | FUTEX_PRIVATE_FLAG,        FUTEX_WAKE | FUTEX_PRIVATE_FLAG,
        FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME,
        FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME,
    };
    const int n = sizeof calls / sizeof *calls, m = sizeof ops / sizeof *ops;
    uint32_t action = !strcmp(otherwise, "kill")   ? SECCOMP_RET_KILL_PROCESS
                      : !strcmp(otherwise, "trap") ? SECCOMP_RET_TRAP
                                                   : SECCOMP_RET_ERRNO | EPERM;
    struct sock_filter code[64];
    int at = 0;
    code[at++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (int i = 0; i < n; i++)
        code[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[i], n - i + m + 2, 0);
    code[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_futex, 0, m + 1);
    code[at++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1]));
    for (int i = 0; i < m; i++)
        code[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ops[i], m - i, 0);
    code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action);
    code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {.len = at, .filter = code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        fail("no new rights");
    /* By `prctl` for this thread alone, which contends with others, too. */
    if (!strcmp(how, "prctl") ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)
                 : syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program))
        fail("filter");
}

/* A section: most are short; who waits for one of the others comes to sleep. */
static void pause_a_little(unsigned x)
{
    int length = x >> 20 & 255 ? 100 : 100000;
    for (volatile int i = 0; i < length; i++)
        ;
}

static struct timespec soon(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    time.tv_nsec += 2000000;
    time.tv_sec += time.tv_nsec / 1000000000;
    time.tv_nsec %= 1000000000;
    return time;
}

static void with_mutex(unsigned x)
{
    int which = x >> 8 & 1 ? (x >> 9) % LOCKS : 0;
    pthread_mutex_t *mutex = &mutexes[which];
    struct timespec time = soon(CLOCK_REALTIME);
    if (x >> 16 & 15)
        pthread_mutex_lock(mutex);
    else if (pthread_mutex_timedlock(mutex, &time))
        return;
    pause_a_little(x);
    counts[which]++;
    pthread_mutex_unlock(mutex);
}

static void with_rwlock(unsigned x)
{
    if (x >> 8 & 3) {
        pthread_rwlock_rdlock(&rwlock);
        pause_a_little(x);
    } else {
        pthread_rwlock_wrlock(&rwlock);
        pause_a_little(x);
        counts[0]++;
    }
    pthread_rwlock_unlock(&rwlock);
}

static void take_turns(long id)
{
    for (int i = 0; i < TURNS; i++) {
        pthread_mutex_lock(&mutexes[0]);
        while (turn != id) {
            struct timespec time = soon(CLOCK_REALTIME);
            if (i % 2)
                pthread_cond_wait(&cond, &mutexes[0]);
            else
                pthread_cond_timedwait(&cond, &mutexes[0], &time);
        }
        turn = (turn + 1) % THREADS;
        pthread_cond_broadcast(&cond);
        pthread_mutex_unlock(&mutexes[0]);
    }
}

static void work(long id, int rounds)
{
    unsigned x = id + 1;
    if (!strcmp(kind, "cond"))
        return take_turns(id);
    for (int i = 0; i < rounds; i++) {
        x = x * 1103515245 + 12345;
        if (!strcmp(kind, "mutex"))
            with_mutex(x);
        else if (!strcmp(kind, "rwlock"))
            with_rwlock(x);
        else {
            pthread_spin_lock(&spin);
            pause_a_little(x);
            counts[0]++;
            pthread_spin_unlock(&spin);
        }
    }
}

static void *run(void *argument)
{
    long id = (long)argument;
    pthread_barrier_wait(&barrier);
    if (!is_before)
        work(id, FEW);
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    work(id, MANY);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    if (argc != 5)
        return 2;
    is_before = !strcmp(argv[1], "before");
    kind = argv[2];
    pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
    for (int i = 0; i < LOCKS; i++)
        pthread_mutex_init(&mutexes[i], NULL);
    pthread_barrier_init(&barrier, NULL, THREADS + 1);
    for (long i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, run, (void *)i))
            fail("thread");
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    filter(argv[3], argv[4]);
    pthread_barrier_wait(&barrier);
    if (strcmp(kind, "cond"))
        work(THREADS, MANY);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    puts("done");
    fflush(stdout);
    _exit(0);
}
