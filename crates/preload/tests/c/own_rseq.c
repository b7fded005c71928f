/*
 * Threads that register an area of their own for restartable sequences, as an allocator does, instead of the C
 * library's: without one of that there is nothing to give up. In the kernel's eyes each thread has one area.
 */
#include "check.h"
#include <stddef.h>
#include <sys/syscall.h>

enum { THREADS = 4, ROUNDS = 20000, UNREGISTER = 1, BYTES = 32 };
enum { SIGNATURE = 0x53053053 };

static __thread struct {
    volatile uint32_t cpu_start, cpu;
    uint64_t section;
    uint32_t flags, rest[3];
} own __attribute__((aligned(32)));

extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned __rseq_size __attribute__((weak));

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long count;

/* Whether it could be had. */
static int take_area(void)
{
    if (&__rseq_size && __rseq_size) {
        char *libcs = (char *)__builtin_thread_pointer() + __rseq_offset;
        CHECK_EQ(syscall(SYS_rseq, libcs, BYTES, UNREGISTER, SIGNATURE), 0);
    }
    own.cpu = -1;
    return syscall(SYS_rseq, &own, BYTES, 0, SIGNATURE) == 0;
}

static void *fight(void *unused)
{
    int has_area = take_area();
    for (int i = 0; i < ROUNDS; i++) {
        CHECK_EQ(pthread_mutex_lock(&mutex), 0);
        count++;
        CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
    }
    CHECK(!has_area || own.cpu < 1u << 20);
    if (!has_area)
        puts("SKIPPED: the kernel has no restartable sequences");
    else
        CHECK_EQ(syscall(SYS_rseq, &own, BYTES, UNREGISTER, SIGNATURE), 0);
    return unused;
}

int main(void)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, fight, NULL), 0);
    for (int i = 0; i < THREADS; i++)
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
    CHECK_EQ(count, THREADS * ROUNDS);
    return 0;
}
