/* Uses locks in the way that DO names, and no other. A thread that must wait does so until the run probe has the
   third word, or for ten seconds. */
#include "check.h"
#include <fcntl.h>
#include <sys/wait.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;

static void await_sign(void)
{
    int file = open(getenv("TURNWISE_RUN_PROBE"), O_RDONLY);
    uint32_t words[3] = {0};
    CHECK(file >= 0);
    for (int i = 0; i < 10000 && !words[2]; i++, sleep_ms(1))
        CHECK_EQ(pread(file, words, sizeof words, 0), sizeof words);
}

static void *lock(void *unused)
{
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    return unused;
}

static void *try(void *unused)
{
    CHECK_EQ(pthread_mutex_trylock(&mutex), EBUSY);
    return unused;
}

static void *read_lock(void *unused)
{
    pthread_rwlock_rdlock(&rwlock);
    pthread_rwlock_unlock(&rwlock);
    return unused;
}

static void *lock_spinning(void *unused)
{
    pthread_spin_lock(&spin);
    pthread_spin_unlock(&spin);
    return unused;
}

int main(void)
{
    const char *what = getenv("DO");
    pthread_t thread;
    if (!strcmp(what, "free")) {
        lock(NULL);
        read_lock(NULL);
        CHECK_EQ(pthread_mutex_trylock(&mutex), 0);
    } else if (!strcmp(what, "spin-free")) {
        pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
        lock_spinning(NULL);
    } else if (!strcmp(what, "lock") || !strcmp(what, "forked")) {
        int child = !strcmp(what, "forked") ? fork() : 0;
        if (child != 0) {
            CHECK_EQ(waitpid(child, NULL, 0), child);
            return 0;
        }
        pthread_mutex_lock(&mutex);
        thread = start(lock, NULL);
        await_sign();
        pthread_mutex_unlock(&mutex);
        pthread_join(thread, NULL);
    } else if (!strcmp(what, "try")) {
        pthread_mutex_lock(&mutex);
        in_thread(try, NULL);
    } else if (!strcmp(what, "rwlock")) {
        pthread_rwlock_wrlock(&rwlock);
        thread = start(read_lock, NULL);
        await_sign();
        pthread_rwlock_unlock(&rwlock);
        pthread_join(thread, NULL);
    } else if (!strcmp(what, "spin")) {
        pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
        pthread_spin_lock(&spin);
        thread = start(lock_spinning, NULL);
        await_sign();
        pthread_spin_unlock(&spin);
        pthread_join(thread, NULL);
    } else {
        CHECK(!strcmp(what, "nothing"));
    }
    return 0;
}
