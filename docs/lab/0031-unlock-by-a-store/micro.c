// cc -O2 -pthread micro.c -o micro: lock and unlock by two exchanges (cas), by an exchange and a store that is unsafe
// (store), by an exchange and a restartable sequence (rseq; rseq0 withdraws its descriptor), and the C library.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/rseq.h>
#include <time.h>

struct lock {
    uint32_t word, mode;
    char pad[56];
};
static __thread uint32_t token __attribute__((tls_model("initial-exec"))) = 1;
static long OFF;

#define INLINE static inline __attribute__((always_inline))

INLINE void lock_(struct lock *l) {
    uint32_t zero = 0;
    while (!__atomic_compare_exchange_n(&l->word, &zero, token, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        zero = 0;
}

INLINE void unlock_cas(struct lock *l) {
    uint32_t me = token;
    if (!__atomic_compare_exchange_n(&l->word, &me, 0, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        abort();
}

INLINE void unlock_store(struct lock *l) {
    if (__atomic_load_n(&l->mode, __ATOMIC_RELAXED) | (__atomic_load_n(&l->word, __ATOMIC_RELAXED) ^ token))
        abort();
    __atomic_store_n(&l->word, 0, __ATOMIC_RELEASE);
}

#define SEQUENCE(AFTER)                                                                                      \
    asm goto(".pushsection __rseq_cs,\"aw\",@progbits\n .balign 32\n"                                        \
             "3: .long 0,0\n .quad 1f, 2f-1f, 4f\n .popsection\n"                                            \
             ".pushsection .text.unlikely,\"ax\",@progbits\n"                                                \
             ".byte 0x0f,0xb9,0x3d\n .long 0x53053053\n 4: jmp %l[slow]\n .popsection\n"                     \
             "leaq 3b(%%rip), %%rax\n movq %%rax, %%fs:8(%[off])\n"                                          \
             "1: cmpl $0, 4(%[l])\n jne %l[slow]\n cmpl %[me], (%[l])\n jne %l[slow]\n movl $0, (%[l])\n"    \
             "2:\n" AFTER                                                                                    \
             :                                                                                               \
             : [l] "r"(l), [me] "r"(token), [off] "r"(OFF)                                                   \
             : "rax", "memory", "cc"                                                                         \
             : slow);                                                                                        \
    return;                                                                                                  \
    slow:                                                                                                    \
    unlock_cas(l);

INLINE void unlock_rseq(struct lock *l) { SEQUENCE("") }
INLINE void unlock_rseq0(struct lock *l) { SEQUENCE("movq $0, %%fs:8(%[off])\n") }

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

enum { RUNS = 9, COUNT = 2000000, WAYS = 6 };
enum { EMPTY, COUNTER, COLD, WORK, BODIES };
static struct lock locks[1024] __attribute__((aligned(64)));
static pthread_mutex_t mutexes[1024];
static volatile uint64_t data[1024 * 8];
static uint64_t *cold; // 256 MiB

#define LOOP(name, LOCK, UNLOCK)                                                                             \
    static __attribute__((noinline)) double name(int n, long count, int body) {                              \
        double begin = now();                                                                                \
        uint64_t r = 1;                                                                                      \
        uint32_t k = 0;                                                                                      \
        for (long i = 0; i < count; i++) {                                                                   \
            LOCK;                                                                                            \
            if (body == COUNTER)                                                                             \
                data[k * 8]++;                                                                               \
            if (body == COLD)                                                                                \
                cold[(r = r * 6364136223846793005u + 1442695040888963407u) >> 39] = i;                       \
            for (int j = 0; body == WORK && j < 8; j++)                                                      \
                data[k * 8] += j;                                                                            \
            UNLOCK;                                                                                          \
            for (int j = 0; body == WORK && j < 50; j++)                                                     \
                asm volatile("imul %0,%0" : "+r"(r));                                                        \
            if (++k == (uint32_t)n)                                                                          \
                k = 0;                                                                                       \
        }                                                                                                    \
        return (now() - begin) / count;                                                                      \
    }
#define NONE asm volatile("" ::: "memory")
LOOP(none, NONE, NONE)
LOOP(cas, lock_(&locks[k]), unlock_cas(&locks[k]))
LOOP(store, lock_(&locks[k]), unlock_store(&locks[k]))
LOOP(rseq, lock_(&locks[k]), unlock_rseq(&locks[k]))
LOOP(rseq0, lock_(&locks[k]), unlock_rseq0(&locks[k]))
LOOP(libc_, pthread_mutex_lock(&mutexes[k]), pthread_mutex_unlock(&mutexes[k]))

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(void) {
    double (*ways[WAYS])(int, long, int) = {none, cas, store, rseq, rseq0, libc_};
    const char *names[WAYS] = {"none", "cas", "store", "rseq", "rseq0", "C library"};
    const char *bodies[BODIES] = {"nothing", "a counter", "a store to a cold line", "40 ns outside"};
    int sizes[] = {1, 10, 100, 1000};
    OFF = __rseq_offset;
    cold = malloc(8ul << 25);
    memset(cold, 1, 8ul << 25);
    for (int body = 0; body < BODIES; body++)
        for (int s = 0; s < 4; s++) {
            double ns[WAYS][RUNS];
            for (int r = 0; r < RUNS; r++)
                for (int i = 0; i < WAYS; i++) {
                    int way = (i + r) % WAYS;
                    ns[way][r] = ways[way](sizes[s], body == COLD ? COUNT / 8 : COUNT, body);
                }
            printf("%s, %d locks:", bodies[body], sizes[s]);
            for (int way = 0; way < WAYS; way++) {
                qsort(ns[way], RUNS, sizeof(double), compare);
                printf(" %s %.2f (%.2f-%.2f)", names[way], ns[way][RUNS / 2], ns[way][0], ns[way][RUNS - 1]);
            }
            puts("");
        }
    return 0;
}
