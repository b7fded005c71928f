/* Two threads take the same new locks first, each from a function of its own, which a rule of its own is about. */
#include "decided.h"

enum { LOCKS = 2000 };
static struct {
    pthread_mutex_t mutex;
    int inside, entries;
} *locks;
static pthread_barrier_t together;

#define HOLD(i)                                                                                                        \
    do {                                                                                                               \
        CHECK_EQ(pthread_mutex_lock(&locks[i].mutex), 0);                                                              \
        CHECK_EQ(locks[i].inside++, 0);                                                                                \
        locks[i].entries++;                                                                                            \
        locks[i].inside--;                                                                                             \
        CHECK_EQ(pthread_mutex_unlock(&locks[i].mutex), 0);                                                            \
    } while (0)

__attribute__((noinline)) static void lock_here(int i)
{
    HOLD(i);
}

__attribute__((noinline)) static void lock_there(int i)
{
    HOLD(i);
    CHECK(i >= 0);
}

static void *here(void *unused)
{
    pthread_barrier_wait(&together);
    for (int i = 0; i < LOCKS; i++)
        lock_here(i);
    return unused;
}

static void *there(void *unused)
{
    pthread_barrier_wait(&together);
    for (int i = LOCKS - 1; i >= 0; i--)
        lock_there(i);
    return unused;
}

int main(void)
{
    locks = calloc(LOCKS, sizeof *locks);
    CHECK_EQ(pthread_barrier_init(&together, NULL, 2), 0);
    pthread_t one = start(here, NULL), two = start(there, NULL);
    CHECK_EQ(pthread_join(one, NULL), 0);
    CHECK_EQ(pthread_join(two, NULL), 0);
    for (int i = 0; i < LOCKS; i++) {
        uint32_t word = word_at(&locks[i].mutex, 24);
        CHECK_EQ(locks[i].entries, 2);
        CHECK(word == ((1 + LIBC) | 1 << 8) || word == ((1 + TTAS) | 2 << 8));
    }
    return 0;
}
