/* A program that registers unwind tables, as those with a just-in-time compiler do, and whose threads unwind their
 * stacks: libgcc's unwinder looks the tables up under a pthread mutex of its own, and allocates meanwhile for those
 * that are new. This program's allocator lets another thread run then, so that all of them contend for that mutex. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <unwind.h>

extern void __register_frame(void *);
extern void __deregister_frame(void *);
extern void *__libc_malloc(size_t);

enum { THREADS = 4, ROUNDS = 4000 };

static __thread int unwinds;

void *malloc(size_t bytes) {
    if (unwinds) {
        sched_yield();
    }
    return __libc_malloc(bytes);
}

static _Unwind_Reason_Code next(struct _Unwind_Context *context, void *frames) {
    (void)context;
    ++*(int *)frames;
    return _URC_NO_REASON;
}

/* A table of code above this program's, which says nothing of it. */
struct table {
    uint32_t length, id;
    uint8_t version, letters, code_unit, data_unit, return_register, program[11];
    uint32_t own_length, distance;
    uint64_t start, size;
    uint8_t own_program[8];
    uint32_t end;
} __attribute__((packed));

static void *run(void *code) {
    struct table table = {.length = 20,
                          .version = 1,
                          .code_unit = 1,
                          .data_unit = 0x78,
                          .return_register = 16,
                          .program = {0x0c, 7, 8, 0x90, 1},
                          .own_length = 28,
                          .distance = 28,
                          .start = (uint64_t)code,
                          .size = 16};
    for (int round = 0; round < ROUNDS; round++) {
        int frames = 0;
        if (round % 64 == 0) {
            alarm(30); /* on busy CPUs each yield may take a time slice */
        }
        __register_frame(&table);
        unwinds = 1;
        _Unwind_Backtrace(next, &frames);
        unwinds = 0;
        __deregister_frame(&table);
        if (frames < 2) {
            _exit(1);
        }
    }
    return NULL;
}

int main(void) {
    char *code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        pthread_create(&threads[i], NULL, run, code + 16 * i);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    return 0;
}
