/* Two threads contend for one lock, each on a CPU of its own; the second shares that with a busy process of its own
   program, which stands for any other. Prints in percent how much of the CPU time of both the second thread got: as
   much as the process, if it does not give its CPU away. KIND is the lock: `mutex` or `rwlock` (written). With one CPU
   alone there is nothing to say. */
#include "check.h"
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum { INSIDE = 1000, OUTSIDE = 1000, LENGTH_MS = 250 /* of CPU time, of both together */ };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static int stop, write_lock;

static void stay_on(int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    CHECK_EQ(sched_setaffinity(0, sizeof set, &set), 0);
}

static void work(int steps)
{
    for (volatile int i = 0; i < steps; i++) {
    }
}

static struct {
    int cpu;
    long long used_ns;
} contenders[2];

static void *contend(void *argument)
{
    int which = (int)(intptr_t)argument;
    stay_on(contenders[which].cpu);
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        CHECK_EQ(write_lock ? pthread_rwlock_wrlock(&rwlock) : pthread_mutex_lock(&mutex), 0);
        work(INSIDE);
        CHECK_EQ(write_lock ? pthread_rwlock_unlock(&rwlock) : pthread_mutex_unlock(&mutex), 0);
        work(OUTSIDE);
    }
    contenders[which].used_ns = now_ns(CLOCK_THREAD_CPUTIME_ID);
    return NULL;
}

/* A process that keeps the CPU busy until it is killed. */
static pid_t busy_on(int cpu)
{
    pid_t parent = getpid(), child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        stay_on(cpu);
        while (getppid() == parent)
            work(1000000);
        _exit(0);
    }
    return child;
}

/* Ends the process; the CPU time that it has used. */
static long long end(pid_t child)
{
    struct rusage used;
    CHECK_EQ(kill(child, SIGKILL), 0);
    CHECK_EQ(wait4(child, NULL, 0, &used), child);
    return (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000000LL
        + (used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1000LL;
}

int main(void)
{
    cpu_set_t allowed;
    CHECK_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    if (CPU_COUNT(&allowed) < 2) {
        puts("SKIPPED: one CPU alone");
        return 0;
    }
    int found = 0;
    for (int cpu = 0; found < 2; cpu++)
        if (CPU_ISSET(cpu, &allowed))
            contenders[found++].cpu = cpu;
    write_lock = strcmp(getenv("KIND") ? getenv("KIND") : "mutex", "rwlock") == 0;
    pid_t busy = busy_on(contenders[1].cpu);
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        threads[i] = start(contend, (void *)(intptr_t)i);
    clockid_t clocks[2];
    CHECK_EQ(pthread_getcpuclockid(threads[1], &clocks[0]), 0);
    CHECK_EQ(clock_getcpuclockid(busy, &clocks[1]), 0);
    while (now_ns(clocks[0]) + now_ns(clocks[1]) < LENGTH_MS * 1000000LL)
        sleep_ms(5);
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < 2; i++)
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
    long long its = contenders[1].used_ns, others = end(busy);
    CHECK(its + others > 0);
    printf("%lld\n", 100 * its / (its + others));
    return 0;
}
