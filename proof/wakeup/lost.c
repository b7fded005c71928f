/* A queue of items, a mutex and one condition variable, used by the book: does a signal get lost?
 *
 * `lost` stops one waiter after its k-th instruction inside of pthread_cond_wait, for every k, and goes on with the
 * others meanwhile. `lost stress` stops nobody and sends many signals. README.md has the rest.
 *
 * Exit status: 0, no signal was lost; 1, HANG; 2, wrong usage; 77, SKIPPED: this cannot run here. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif

enum { WORKERS = 3, SKIPPED = 77 };

/* A stopped thread goes on by itself if the others have made no step for that long: they wait for it. */
static const double HOLD_S = 0.02;
/* How long a wake-up that nobody asked for may take. */
static const double SETTLE_S = 0.004;
/* An item that lies there for that long, with all workers asleep, is lost. */
static double hang_s = 5;
static double begun;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

/* ---- The queue: whoever adds an item sends one signal; whoever finds none waits. ---- */

struct queue {
    pthread_mutex_t mutex;
    pthread_cond_t not_empty;
    int items;
    int waiting; /* workers that are in pthread_cond_wait */
    long returns; /* from pthread_cond_wait */
    bool closed;
};

/* Which instruction of the first wait the worker stops after; 0: none. */
struct worker {
    struct queue *queue;
    pthread_t thread;
    long stop_at;
};

static void wait_stepped(struct queue *queue, long stop_at);

static void *work(void *argument)
{
    struct worker *self = argument;
    struct queue *queue = self->queue;
    pthread_mutex_lock(&queue->mutex);
    while (!queue->closed || queue->items > 0) {
        if (queue->items > 0) {
            queue->items--;
            continue;
        }
        queue->waiting++;
        if (self->stop_at > 0)
            wait_stepped(queue, self->stop_at);
        else
            pthread_cond_wait(&queue->not_empty, &queue->mutex);
        self->stop_at = 0;
        queue->returns++;
        queue->waiting--;
    }
    pthread_mutex_unlock(&queue->mutex);
    return NULL;
}

static void post(struct queue *queue)
{
    pthread_mutex_lock(&queue->mutex);
    queue->items++;
    pthread_cond_signal(&queue->not_empty);
    pthread_mutex_unlock(&queue->mutex);
}

/* ---- One thread, instruction by instruction: the processor's trap flag raises SIGTRAP after each. ---- */

enum state { BEFORE, HELD, RELEASED, RETURNED };
static _Atomic enum state state;
static atomic_long steps, stop_after;
static _Atomic pid_t stepped_thread;
/* Counts what the others do; the stopped thread watches it. */
static atomic_long progress;

#ifdef __x86_64__
enum { TRAP_FLAG = 0x100 };

/* The red zone below the stack pointer stays as it is. */
static inline void trap_flag_on(void)
{
    __asm__ volatile("lea -128(%%rsp), %%rsp\n pushfq\n orl $0x100, (%%rsp)\n popfq\n lea 128(%%rsp), %%rsp" ::
                         : "memory", "cc");
}

static inline void trap_flag_off(void)
{
    __asm__ volatile("lea -128(%%rsp), %%rsp\n pushfq\n andl $~0x100, (%%rsp)\n popfq\n lea 128(%%rsp), %%rsp" ::
                         : "memory", "cc");
}

/* Returns the next instruction, before which the thread stands. */
static void *go_on_at_full_speed(void *context)
{
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    registers[REG_EFL] &= ~(greg_t)TRAP_FLAG;
    return (void *)registers[REG_RIP];
}
#else
static inline void trap_flag_on(void) {}
static inline void trap_flag_off(void) {}
static void *go_on_at_full_speed(void *context) { return context; }
#endif

/* Where the thread was stopped. */
static void *_Atomic place;

/* Calls nothing but what a signal handler may, and no function of pthread's. */
static void stepped(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)info;
    if (atomic_fetch_add(&steps, 1) + 1 != atomic_load(&stop_after))
        return;
    atomic_store(&place, go_on_at_full_speed(context));
    long seen = atomic_load(&progress);
    double until = now() + HOLD_S;
    atomic_store(&state, HELD);
    while (atomic_load(&state) == HELD && now() < until) {
        if (atomic_load(&progress) != seen) {
            seen = atomic_load(&progress);
            until = now() + HOLD_S;
        }
        sched_yield();
    }
    atomic_store(&state, RELEASED);
}

static void wait_stepped(struct queue *queue, long stop_at)
{
    atomic_store(&stop_after, stop_at);
    atomic_store(&steps, 0);
    atomic_store(&stepped_thread, gettid());
    trap_flag_on();
    pthread_cond_wait(&queue->not_empty, &queue->mutex);
    trap_flag_off();
    atomic_store(&state, RETURNED);
}

/* Returns whether traps come at all: emulators and other processors have none. */
static bool can_step(void)
{
    struct sigaction action = {.sa_sigaction = stepped, .sa_flags = SA_SIGINFO};
    sigaction(SIGTRAP, &action, NULL);
    trap_flag_on();
    for (volatile int i = 0; i < 10; i++) {}
    trap_flag_off();
    return atomic_load(&steps) > 10;
}

/* ---- The schedule ---- */

/* Waits until all items are taken and that many workers wait; returns whether it came to that in time. */
static bool all_wait(struct queue *queue, int workers)
{
    double until = now() + hang_s;
    for (;;) {
        pthread_mutex_lock(&queue->mutex);
        bool done = queue->items == 0 && queue->waiting == workers;
        pthread_mutex_unlock(&queue->mutex);
        if (done) {
            atomic_fetch_add(&progress, 1);
            return true;
        }
        if (now() > until)
            return false;
        sched_yield();
    }
}

/* Waits until the stepped thread sleeps in the kernel, or was stopped before; not for ever: it may poll instead. */
static void wait_for_sleep(void)
{
    char path[64], line[256], status = 0;
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", atomic_load(&stepped_thread));
    for (double until = now() + HOLD_S; status != 'S' && now() < until && atomic_load(&state) == BEFORE;) {
        FILE *file = fopen(path, "r");
        if (file == NULL)
            return;
        if (fgets(line, sizeof line, file) != NULL)
            sscanf(line, "%*d (%*[^)]) %c", &status);
        fclose(file);
        sched_yield();
    }
}

static void wait_for_returns(struct queue *queue, long returns)
{
    double until = now() + SETTLE_S;
    for (bool enough = false; !enough && now() < until; sched_yield()) {
        pthread_mutex_lock(&queue->mutex);
        enough = queue->returns >= returns;
        pthread_mutex_unlock(&queue->mutex);
    }
}

static void start(struct worker *worker, struct queue *queue, long stop_at)
{
    *worker = (struct worker){.queue = queue, .stop_at = stop_at};
    int error = pthread_create(&worker->thread, NULL, work, worker);
    if (error != 0) {
        fprintf(stderr, "lost: no thread can be started: %s\n", strerror(error));
        exit(2);
    }
}

static void print_place(void)
{
    Dl_info module;
    char *at = atomic_load(&place);
    if (dladdr(at, &module) == 0)
        return;
    const char *name = module.dli_sname != NULL ? module.dli_sname : "(no symbol)";
    printf("It stood before %s+%td in %s.\n", name, at - (char *)module.dli_saddr, module.dli_fname);
}

/* An item lies there: shows that one more signal, without an item, is enough, and ends the program. */
static void end_hung(struct queue *queue, int workers, long stop_at)
{
    pthread_mutex_lock(&queue->mutex);
    printf("HANG after %.1f s: a waiter was stopped after instruction %ld of pthread_cond_wait, and went on.\n"
           "%d item lies in the queue, its signal was sent %.0f s ago, and %d of %d workers wait.\n",
           now() - begun, stop_at, queue->items, hang_s, queue->waiting, workers);
    print_place();
    pthread_cond_signal(&queue->not_empty);
    pthread_mutex_unlock(&queue->mutex);
    bool woken = all_wait(queue, workers);
    printf("One more signal: %s.\n", woken ? "a worker woke and took it; so the signal before was lost" : "no change");
    exit(1);
}

/* Lets the worker that is stopped go on: it returns, and waits again; perhaps it wakes another that does so, too.
 * Returns whether it was still there. */
static bool go_on(struct queue *queue)
{
    pthread_mutex_lock(&queue->mutex);
    long returns = queue->returns;
    pthread_mutex_unlock(&queue->mutex);
    enum state expected = HELD;
    if (!atomic_compare_exchange_strong(&state, &expected, RELEASED))
        return false;
    wait_for_returns(queue, returns + 2);
    return true;
}

/* Runs the schedule once: the first worker is stopped after instruction `stop_at` of its first wait. Returns whether
 * it stayed so until all was posted but the last item. */
static bool try(long stop_at)
{
    struct queue queue = {.mutex = PTHREAD_MUTEX_INITIALIZER, .not_empty = PTHREAD_COND_INITIALIZER};
    struct worker workers[WORKERS];
    atomic_store(&state, BEFORE);
    start(&workers[0], &queue, stop_at);
    bool well = all_wait(&queue, 1);
    wait_for_sleep();
    post(&queue);
    for (double until = now() + hang_s; atomic_load(&state) == BEFORE && now() < until;)
        sched_yield();
    well &= atomic_load(&state) != BEFORE;
    int started = 1;
    /* The second worker takes the first item, if the stopped one cannot, and the second item. */
    while (well && started < WORKERS) {
        start(&workers[started++], &queue, 0);
        well = all_wait(&queue, started);
        post(&queue);
        well = well && all_wait(&queue, started);
    }
    bool held = go_on(&queue);
    if (well) {
        post(&queue);
        well = all_wait(&queue, started);
    }
    if (!well)
        end_hung(&queue, started, stop_at);
    pthread_mutex_lock(&queue.mutex);
    queue.closed = true;
    pthread_cond_broadcast(&queue.not_empty);
    pthread_mutex_unlock(&queue.mutex);
    for (int i = 0; i < WORKERS; i++)
        pthread_join(workers[i].thread, NULL);
    return held;
}

/* Returns a number below `count` without a factor in common, near the golden section: its multiples are spread. */
static long spread(long count)
{
    for (long step = count * 0.618;; step++) {
        long a = count, b = step;
        while (b != 0) {
            long rest = a % b;
            a = b;
            b = rest;
        }
        if (a == 1)
            return step;
    }
}

/* Stops the waiter after each instruction of its wait in turn, as far as the time suffices. */
static int sweep(double limit_s)
{
    long count = atomic_load(&steps) * 1.1 + 9, step = spread(count), held = 0, tried = 0;
    for (long at = 0; tried < count && now() - begun < limit_s; tried++) {
        at = (at + step) % count;
        held += try(at + 1);
    }
    printf("no hang: of %ld instructions a waiter was stopped after %ld, and stayed so through the schedule at %ld; "
           "%.1f s\n", count, tried, held, now() - begun);
    return held > 0 ? 0 : SKIPPED;
}

static int wrong_usage(void)
{
    fputs("usage: lost [-a INSTRUCTION] [-t SECONDS] [-i SECONDS]\n"
          "  -a  stop the waiter there alone\n"
          "  -t  end after that time\n"
          "  -i  how long an item may lie there before that is called a hang (5)\n", stderr);
    return 2;
}

int main(int argc, char **argv)
{
    long at = 0;
    double limit_s = 1e9;
    for (int option; (option = getopt(argc, argv, "a:t:i:")) != -1;) {
        double number = optarg != NULL ? atof(optarg) : 0;
        if (option == '?' || number <= 0)
            return wrong_usage();
        switch (option) {
        case 'a':
            at = (long)number;
            break;
        case 't':
            limit_s = number;
            break;
        default:
            hang_s = number;
        }
    }
    if (optind < argc)
        return wrong_usage();
    setvbuf(stdout, NULL, _IOLBF, 0);
#ifdef __GLIBC__
    printf("glibc %s\n", gnu_get_libc_version());
#endif
    if (!can_step()) {
        puts("SKIPPED: no traps after single instructions here (x86-64's trap flag)");
        return SKIPPED;
    }
    /* Stopped nowhere, twice: what is set up at the first call would count as steps. */
    begun = now();
    try(LONG_MAX);
    try(LONG_MAX);
    if (at == 0)
        return sweep(limit_s);
    puts(try(at) ? "no hang" : "no hang: the others had to wait for the stopped thread, or it was not there");
    return 0;
}
