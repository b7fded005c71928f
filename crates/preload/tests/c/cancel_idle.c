/* A cancelled waiter wakes nobody if nobody signals; and a signal at the moment of a cancellation is never lost. */
#include "check.h"
#include <dirent.h>
#include <sched.h>

enum { MOST = 16, WAITERS = 5 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int inside, tokens, over;
static long wakes;

static int locked(const int *value)
{
    CHECK_EQ(pthread_mutex_lock(&mutex), 0);
    int found = *value;
    CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
    return found;
}

static void until(const int *value, int expected)
{
    for (int i = 0; locked(value) != expected; i++) {
        CHECK(i < 10000);
        if (i < 200)
            sched_yield();
        else
            sleep_ms(1);
    }
}

static void release(void *unused)
{
    (void)unused;
    CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
}

static void *takes_a_token(void *unused)
{
    CHECK_EQ(pthread_mutex_lock(&mutex), 0);
    pthread_cleanup_push(release, NULL);
    inside++;
    while (tokens == 0 && !over) {
        CHECK_EQ(pthread_cond_wait(&cond, &mutex), 0);
        wakes++;
    }
    if (!over)
        tokens--;
    pthread_cleanup_pop(1);
    return unused;
}

static void start_waiters(pthread_t *threads, int count)
{
    inside = tokens = over = 0;
    wakes = 0;
    for (int i = 0; i < count; i++)
        threads[i] = start(takes_a_token, NULL);
    until(&inside, count);
}

static void give(int count)
{
    CHECK_EQ(pthread_mutex_lock(&mutex), 0);
    tokens += count;
    CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
}

/* Whether another thread of the process runs or wants to. */
static int others_run(void)
{
    char path[64], state = 0;
    int runnable = 0;
    DIR *threads = opendir("/proc/self/task");
    CHECK(threads);
    for (struct dirent *thread; (thread = readdir(threads));) {
        if (thread->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "/proc/self/task/%.16s/stat", thread->d_name);
        FILE *stat = fopen(path, "r");
        if (stat && fscanf(stat, "%*d %*s %c", &state) == 1)
            runnable += state == 'R';
        if (stat)
            fclose(stat);
    }
    closedir(threads);
    return runnable > 1;
}

/* Until all other threads sleep, however busy the machine is. */
static void until_asleep(void)
{
    for (int quiet = 0; quiet < 3; sleep_ms(1))
        quiet = others_run() ? 0 : quiet + 1;
}

/* `count` idle waiters, of which some are cancelled while nobody signals. */
static void idle(int count, int cancelled)
{
    pthread_t threads[MOST];
    void *result;
    start_waiters(threads, count);
    until_asleep();
    for (int i = 0; i < cancelled; i++) {
        CHECK_EQ(pthread_cancel(threads[i]), 0);
        CHECK_EQ(pthread_join(threads[i], &result), 0);
        CHECK(result == PTHREAD_CANCELED);
    }
    sleep_ms(50);
    until_asleep();
    CHECK_EQ(pthread_mutex_lock(&mutex), 0);
    CHECK(wakes <= cancelled); /* ours: 0 */
    CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
    for (int i = cancelled; i < count; i++) {
        give(1);
        CHECK_EQ(pthread_cond_signal(&cond), 0);
        until(&tokens, 0); /* hangs if the signal went to a waiter that is gone */
    }
    for (int i = cancelled; i < count; i++)
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
}

/* The same of waiters that were woken before, so that the sequence changed since some of them arrived. */
static void after_signals(int count)
{
    pthread_t threads[MOST];
    start_waiters(threads, count);
    for (int i = 0; i < 3; i++)
        CHECK_EQ(pthread_cond_signal(&cond), 0); /* three wake up for nothing and wait again, last in line */
    until_asleep();
    CHECK_EQ(pthread_mutex_lock(&mutex), 0);
    wakes = 0;
    CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
    CHECK_EQ(pthread_cancel(threads[count - 1]), 0);
    CHECK_EQ(pthread_join(threads[count - 1], NULL), 0);
    sleep_ms(50);
    until_asleep();
    CHECK_EQ(pthread_mutex_lock(&mutex), 0);
    CHECK(wakes <= 1);
    CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
    for (int i = 0; i < count - 1; i++) {
        give(1);
        CHECK_EQ(pthread_cond_signal(&cond), 0);
        until(&tokens, 0);
    }
    for (int i = 0; i < count - 1; i++)
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
}

static void pause_for(unsigned steps)
{
    for (volatile unsigned i = 0; i < steps; i++) {
    }
}

struct signals {
    int count, go;
    unsigned after;
};

static void *signals(void *argument)
{
    struct signals *s = argument;
    while (!__atomic_load_n(&s->go, __ATOMIC_ACQUIRE))
        sched_yield();
    pause_for(s->after);
    for (int i = 0; i < s->count; i++)
        CHECK_EQ(pthread_cond_signal(&cond), 0);
    return NULL;
}

/* One or two of five waiters are cancelled while one or two signals come, in any order: the tokens must find takers. */
static void race(unsigned round)
{
    static unsigned random = 1;
    pthread_t threads[WAITERS];
    random = random * 1103515245 + 12345;
    struct signals s = {.count = 1 + round % 2, .after = (random >> 16) % 4096};
    int victims = 1 + round / 2 % 2;
    start_waiters(threads, WAITERS);
    if (round % 3 == 0)
        CHECK_EQ(pthread_cond_signal(&cond), 0); /* for nothing: waiters wait again meanwhile */
    give(s.count);
    pthread_t signaller = start(signals, &s);
    __atomic_store_n(&s.go, 1, __ATOMIC_RELEASE);
    pause_for((random >> 8) % 4096);
    for (int i = 0; i < victims; i++)
        CHECK_EQ(pthread_cancel(threads[(round % 5 + i) % WAITERS]), 0);
    CHECK_EQ(pthread_join(signaller, NULL), 0);
    until(&tokens, 0);
    CHECK_EQ(pthread_mutex_lock(&mutex), 0);
    over = 1;
    CHECK_EQ(pthread_cond_broadcast(&cond), 0);
    CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
    for (int i = 0; i < WAITERS; i++)
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
}

int main(void)
{
    idle(8, 1);
    idle(16, 1);
    idle(16, 5);
    after_signals(8);
    after_signals(16);
    for (int round = 0; round < times(2000); round++)
        race((unsigned)round);
    CHECK_EQ(pthread_cond_destroy(&cond), 0);
    return 0;
}
