/* What waits for the program's locks come to: with the argument `counted`, in a folder for the file of its live view,
   or `off`, where there is to be none. */
#include "check.h"
#include <pthread.h>
#include <string.h>
#include <turnwise.h>
#include <unistd.h>

static tw_mutex jobs = TW_MUTEX_INIT;
static tw_rwsem table = TW_RWSEM_INIT;

struct found {
    const void *lock;
    tw_wait_kind kind;
    int times;
    tw_lock_stats stats;
};

static void look(const tw_lock_stats *lock, void *context) {
    struct found *found = context;
    /* It may use locks. */
    tw_mutex own = TW_MUTEX_INIT;
    tw_mutex_lock(&own);
    if (lock->lock == found->lock && lock->kind == found->kind) {
        found->stats = *lock;
        found->times++;
    }
    tw_mutex_unlock(&own);
}

static struct found find(const void *lock, tw_wait_kind kind) {
    struct found found = {.lock = lock, .kind = kind};
    CHECK_RESULT(tw_stats_each(look, &found), TW_OK);
    CHECK(found.times <= 1);
    return found;
}

static void until_one_waits(const void *lock, tw_wait_kind kind) {
    while (find(lock, kind).stats.waiting != 1)
        usleep(1000);
}

static void *lock_it(void *unused) {
    (void)unused;
    tw_mutex_lock(&jobs);
    tw_mutex_unlock(&jobs);
    return NULL;
}

static void *read_it(void *unused) {
    (void)unused;
    tw_rwsem_read(&table);
    tw_rwsem_unlock_read(&table);
    return NULL;
}

static void *give_up(void *unused) {
    (void)unused;
    CHECK_RESULT(tw_mutex_lock_for(&jobs, 5 * MS), TW_TIMEDOUT);
    return NULL;
}

static uint64_t sum(const uint64_t *counts) {
    uint64_t all = 0;
    for (int i = 0; i < 32; i++)
        all += counts[i];
    return all;
}

static void counted(void) {
    struct found none = {.lock = &jobs};
    pthread_t thread;
    CHECK_RESULT(tw_stats_each(look, &none), TW_INVALID);
    CHECK_RESULT(tw_stats_start(), TW_OK);
    CHECK_RESULT(tw_stats_start(), TW_OK);
    CHECK_RESULT(tw_stats_each(NULL, NULL), TW_INVALID);
    CHECK(find(&jobs, TW_WAIT_MUTEX).times == 0);

    tw_mutex_lock(&jobs);
    pthread_create(&thread, NULL, lock_it, NULL);
    until_one_waits(&jobs, TW_WAIT_MUTEX);
    usleep(20000);
    tw_mutex_unlock(&jobs);
    pthread_join(thread, NULL);
    tw_lock_stats stats = find(&jobs, TW_WAIT_MUTEX).stats;
    CHECK(stats.waits == 1 && stats.waiting == 0 && stats.gave_up == 0);
    CHECK(stats.longest_ns >= 20 * MS && stats.wait_ns == stats.longest_ns && stats.sleeps >= 1);
    CHECK(sum(stats.histogram) == 1);

    tw_mutex_lock(&jobs);
    pthread_create(&thread, NULL, give_up, NULL);
    pthread_join(thread, NULL);
    tw_mutex_unlock(&jobs);
    stats = find(&jobs, TW_WAIT_MUTEX).stats;
    CHECK(stats.waits == 2 && stats.gave_up == 1);

    tw_rwsem_write(&table);
    pthread_create(&thread, NULL, read_it, NULL);
    until_one_waits(&table, TW_WAIT_READ);
    tw_rwsem_unlock_write(&table);
    pthread_join(thread, NULL);
    CHECK(find(&table, TW_WAIT_READ).stats.waits == 1 && find(&table, TW_WAIT_WRITE).times == 0);
}

int main(int argc, char **argv) {
    CHECK(argc == 2);
    if (strcmp(argv[1], "counted") == 0)
        counted();
    else
        CHECK_RESULT(tw_stats_start(), TW_INVALID);
    return 0;
}
