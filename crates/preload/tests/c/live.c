/* Waits that are known one by one, for the live view. DO says which; each line on stdout is answered on stdin. */
#define _GNU_SOURCE
#include "check.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LOCKS = 20000 };
static pthread_mutex_t mutexes[LOCKS];
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static atomic_int turn = -1, tid;

static int my_tid(void)
{
    return (int)syscall(SYS_gettid);
}

static void nap(long ms)
{
    struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    nanosleep(&time, NULL);
}

static void tell(const char *what, int waiter, const void *lock)
{
    char answer[16];
    printf("%s %d %d %lu\n", what, my_tid(), waiter, (unsigned long)lock);
    fflush(stdout);
    if (!fgets(answer, sizeof answer, stdin))
        exit(3);
}

/* Whether a thread sleeps for one of our mutexes. */
static int is_waited_for(const pthread_mutex_t *mutex)
{
    return *(const volatile uint32_t *)mutex >> 30 & 1;
}

/* Waits for as many mutexes as there are turns. */
static void *wait_for_mutexes(void *count)
{
    tid = my_tid();
    for (int i = 0; i < (int)(intptr_t)count; i++) {
        while (turn != i)
            nap(0);
        CHECK(pthread_mutex_lock(&mutexes[i % LOCKS]) == 0);
        CHECK(pthread_mutex_unlock(&mutexes[i % LOCKS]) == 0);
    }
    return NULL;
}

/* Makes a thread wait for the first mutex once. */
static void wait_once(long ms)
{
    pthread_t thread;
    turn = -1;
    CHECK(pthread_create(&thread, NULL, wait_for_mutexes, (void *)1) == 0);
    CHECK(pthread_mutex_lock(&mutexes[0]) == 0);
    turn = 0;
    while (!is_waited_for(&mutexes[0]))
        nap(0);
    nap(ms);
    CHECK(pthread_mutex_unlock(&mutexes[0]) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
}

static void one_by_one(int count)
{
    for (int i = 0; i < count; i++)
        wait_once(1);
    tell("done", 0, &mutexes[0]);
}

static void waiter_now(void)
{
    pthread_t thread;
    wait_once(20);
    turn = -1;
    CHECK(pthread_create(&thread, NULL, wait_for_mutexes, (void *)1) == 0);
    CHECK(pthread_mutex_lock(&mutexes[0]) == 0);
    turn = 0;
    while (!is_waited_for(&mutexes[0]))
        nap(0);
    tell("waits", tid, &mutexes[0]);
    CHECK(pthread_mutex_unlock(&mutexes[0]) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    tell("done", 0, &mutexes[0]);
}

static void many_locks(void)
{
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, wait_for_mutexes, (void *)LOCKS) == 0);
    for (int i = 0; i < LOCKS; i++)
        CHECK(pthread_mutex_lock(&mutexes[i]) == 0);
    for (int i = 0; i < LOCKS; i++) {
        turn = i;
        while (!is_waited_for(&mutexes[i]))
            nap(0);
        CHECK(pthread_mutex_unlock(&mutexes[i]) == 0);
    }
    CHECK(pthread_join(thread, NULL) == 0);
    tell("done", 0, mutexes);
}

static void *read_once(void *unused)
{
    tid = my_tid();
    CHECK(pthread_rwlock_rdlock(&rwlock) == 0);
    CHECK(pthread_rwlock_unlock(&rwlock) == 0);
    return unused;
}

static void *write_once(void *unused)
{
    tid = my_tid();
    CHECK(pthread_rwlock_wrlock(&rwlock) == 0);
    CHECK(pthread_rwlock_unlock(&rwlock) == 0);
    return unused;
}

static void *spin_once(void *unused)
{
    tid = my_tid();
    CHECK(pthread_spin_lock(&spin) == 0);
    CHECK(pthread_spin_unlock(&spin) == 0);
    return unused;
}

static void *wait_for_condition(void *unused)
{
    CHECK(pthread_mutex_lock(&mutexes[0]) == 0);
    tid = my_tid();
    CHECK(pthread_cond_wait(&cond, &mutexes[0]) == 0);
    CHECK(pthread_mutex_unlock(&mutexes[0]) == 0);
    return unused;
}

static void *give_up(void *unused)
{
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    time.tv_nsec += 30000000;
    if (time.tv_nsec >= 1000000000)
        time.tv_sec++, time.tv_nsec -= 1000000000;
    CHECK(pthread_mutex_timedlock(&mutexes[0], &time) == ETIMEDOUT);
    return unused;
}

static void hold(const char *kind, void *(*start)(void *), const void *lock, int (*release)(void *), void *argument)
{
    pthread_t thread;
    tid = 0;
    CHECK(pthread_create(&thread, NULL, start, NULL) == 0);
    while (tid == 0)
        nap(1);
    tell(kind, tid, lock);
    CHECK(release(argument) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
}

static int release_rwlock(void *lock)
{
    return pthread_rwlock_unlock(lock);
}

static int release_spin(void *lock)
{
    return pthread_spin_unlock((pthread_spinlock_t *)lock);
}

static int release_mutex(void *lock)
{
    return pthread_mutex_unlock(lock);
}

static void kinds(void)
{
    pthread_t thread;
    CHECK(pthread_rwlock_wrlock(&rwlock) == 0);
    hold("read", read_once, &rwlock, release_rwlock, &rwlock);
    CHECK(pthread_rwlock_wrlock(&rwlock) == 0);
    hold("write", write_once, &rwlock, release_rwlock, &rwlock);
    pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
    CHECK(pthread_spin_lock(&spin) == 0);
    hold("spin", spin_once, (const void *)&spin, release_spin, (void *)&spin);
    tid = 0;
    CHECK(pthread_create(&thread, NULL, wait_for_condition, NULL) == 0);
    while (tid == 0)
        nap(1);
    while (pthread_mutex_trylock(&mutexes[0]) != 0) /* until it waits for the condition; a lock would count a wait */
        nap(1);
    CHECK(pthread_cond_signal(&cond) == 0);
    tell("mutex", tid, &mutexes[0]);
    CHECK(release_mutex(&mutexes[0]) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(pthread_mutex_lock(&mutexes[0]) == 0);
    CHECK(pthread_create(&thread, NULL, give_up, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(pthread_mutex_unlock(&mutexes[0]) == 0);
    tell("done", 0, &rwlock);
}

static void forked(void)
{
    int status;
    wait_once(1);
    wait_once(1);
    pid_t child = fork();
    if (child == 0) {
        wait_once(1);
        tell("child", getpid(), mutexes);
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    wait_once(1);
    tell("done", child, mutexes);
}

static void replaced(char *program)
{
    wait_once(1);
    wait_once(1);
    tell("before", 0, mutexes);
    setenv("DO", "once", 1);
    execl(program, program, NULL);
    abort();
}

/* A thread that waits for a mutex, under any policy. */
static void *lock_once(void *unused)
{
    tid = my_tid();
    CHECK(pthread_mutex_lock(&mutexes[0]) == 0);
    CHECK(pthread_mutex_unlock(&mutexes[0]) == 0);
    return unused;
}

static void any_policy(void)
{
    CHECK(pthread_mutex_lock(&mutexes[0]) == 0);
    hold("mutex", lock_once, &mutexes[0], release_mutex, &mutexes[0]);
    tell("done", 0, mutexes);
}

/* Four threads that fight for more locks than a thread has room for. */
enum { FOUGHT_FOR = 64 };
static atomic_int over;

static void *fight(void *seed)
{
    unsigned random = (unsigned)(uintptr_t)seed;
    while (!over) {
        pthread_mutex_t *mutex = &mutexes[(random = random * 1664525 + 1013904223) >> 16 & (FOUGHT_FOR - 1)];
        CHECK(pthread_mutex_lock(mutex) == 0);
        for (int i = 0; i < 100; i++)
            (void)over;
        if (random >> 28 == 0)
            sched_yield();
        CHECK(pthread_mutex_unlock(mutex) == 0);
    }
    return NULL;
}

static void busy(void)
{
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, fight, (void *)(uintptr_t)i) == 0);
    tell("busy", 0, mutexes);
    over = 1;
    for (int i = 0; i < 4; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    tell("done", 0, mutexes);
}

/* A signal handler that waits for another mutex than the thread that it interrupts. */
static void handle(int number)
{
    (void)number;
    CHECK(pthread_mutex_lock(&mutexes[1]) == 0);
    CHECK(pthread_mutex_unlock(&mutexes[1]) == 0);
}

static void interrupted(void)
{
    pthread_t thread;
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};
    CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
    CHECK(pthread_create(&thread, NULL, wait_for_mutexes, (void *)1) == 0);
    CHECK(pthread_mutex_lock(&mutexes[0]) == 0);
    CHECK(pthread_mutex_lock(&mutexes[1]) == 0);
    turn = 0;
    while (!is_waited_for(&mutexes[0]))
        nap(0);
    CHECK(pthread_kill(thread, SIGUSR1) == 0);
    while (!is_waited_for(&mutexes[1]))
        nap(0);
    CHECK(pthread_mutex_unlock(&mutexes[1]) == 0);
    nap(20);
    CHECK(pthread_mutex_unlock(&mutexes[0]) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    tell("done", 0, mutexes);
}

/* A process that a filter ends if it opens a file or makes a folder. */
static void filtered(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mkdirat, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof code / sizeof *code, .filter = code};
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
    one_by_one(3);
}

/* A kernel that cannot make pages of a mapped file writable on request. */
static void on_an_old_kernel(void)
{
    enum { MADV_POPULATE_WRITE_ = 23 };
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MADV_POPULATE_WRITE_, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof code / sizeof *code, .filter = code};
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
    many_locks();
}

/* Two threads that wait for each other in their first waits, while the file of the view takes its time. */
static atomic_int listener = -1, is_begun;

static void *wait_crosswise(void *unused)
{
    CHECK(pthread_mutex_lock(&mutexes[1]) == 0);
    CHECK(pthread_mutex_lock(&mutexes[0]) == 0);
    return unused;
}

/* Lets the first `ftruncate` of the other threads begin late. */
static void *supervise(void *unused)
{
    struct seccomp_notif call = {0};
    struct seccomp_notif_resp answer = {.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};
    while (listener < 0)
        nap(1);
    CHECK(ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call) == 0);
    is_begun = 1;
    nap(300);
    answer.id = call.id;
    CHECK(ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer) == 0);
    while (!is_waited_for(&mutexes[0]) || !is_waited_for(&mutexes[1]))
        nap(1);
    tell("circle", 0, mutexes);
    _exit(0);
    return unused;
}

static void crosswise(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ftruncate, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof code / sizeof *code, .filter = code};
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, supervise, NULL) == 0);
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    int filter = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
    CHECK(filter >= 0);
    CHECK(pthread_mutex_lock(&mutexes[0]) == 0);
    CHECK(pthread_create(&thread, NULL, wait_crosswise, NULL) == 0);
    listener = filter;
    while (!is_begun)
        nap(1);
    CHECK(pthread_mutex_lock(&mutexes[1]) == 0);
}

/* As servers do before they take a lock. */
static void leave(void)
{
    if (chroot("/sys") || chdir("/") || setgid(65534) || setuid(65534))
        _exit(3);
}

int main(int count, char **arguments)
{
    const char *what = getenv("DO");
    if (getenv("LEAVE"))
        leave();
    if (!strcmp(what, "once"))
        one_by_one(1);
    else if (!strcmp(what, "threads"))
        one_by_one(300);
    else if (!strcmp(what, "now"))
        waiter_now();
    else if (!strcmp(what, "many"))
        many_locks();
    else if (!strcmp(what, "kinds"))
        kinds();
    else if (!strcmp(what, "fork"))
        forked();
    else if (!strcmp(what, "exec"))
        replaced(arguments[count - 1]);
    else if (!strcmp(what, "busy"))
        busy();
    else if (!strcmp(what, "interrupted"))
        interrupted();
    else if (!strcmp(what, "filtered"))
        filtered();
    else if (!strcmp(what, "old-kernel"))
        on_an_old_kernel();
    else if (!strcmp(what, "crosswise"))
        crosswise();
    else if (!strcmp(what, "any"))
        any_policy();
    else if (strcmp(what, "nothing"))
        return 2;
    return 0;
}
