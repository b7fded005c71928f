/* Threads that contend for a mutex, each on a stack of its own whose first frame returns to a word that nobody returns
 * to, without unwind information for the jump there. KIND says which word. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { THREADS = 4, STACK = 64 * 1024, ROUNDS = 3000 };

struct coroutine {
    void *own, *back;
    uintptr_t odd, frame;
};

static pthread_mutex_t contended = PTHREAD_MUTEX_INITIALIZER;
static volatile long count;
static __thread struct coroutine *now;

/* Keeps the registers that functions keep, and goes on on another stack. */
void jump(void **save, void *to);
__asm__(".text\n.globl jump\n.type jump,@function\njump:\n"
        " pushq %rbp\n pushq %rbx\n pushq %r12\n pushq %r13\n pushq %r14\n pushq %r15\n"
        " movq %rsp,(%rdi)\n movq %rsi,%rsp\n"
        " popq %r15\n popq %r14\n popq %r13\n popq %r12\n popq %rbx\n popq %rbp\n ret\n.size jump,.-jump\n");

/* Known code with a frame of several pages, most of which would lie above the stack. */
__attribute__((noinline)) int large(int depth) {
    volatile char room[6 * 4096];
    room[depth] = (char)depth;
    return depth == 0 ? 0 : large(depth - 1) + room[depth];
}

__attribute__((noinline)) static void section(void) {
    for (volatile int i = 0; i < 300; i++) {
    }
    count++;
}

static void body(void) {
    for (int round = 0; round < ROUNDS; round++) {
        pthread_mutex_lock(&contended);
        section();
        if (round % 100 == 0) {
            usleep(200);
        }
        pthread_mutex_unlock(&contended);
    }
    jump(&now->own, now->back);
    _exit(9);
}

static void *thread(void *argument) {
    struct coroutine *c = now = argument;
    char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack == MAP_FAILED || mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED) {
        _exit(3);
    }
    /* The odd word is the last of the stack. */
    uintptr_t *top = (uintptr_t *)(stack + STACK);
    *--top = c->odd;
    *--top = (uintptr_t)body;
    *--top = c->frame;
    for (int i = 0; i < 5; i++) {
        *--top = c->odd;
    }
    jump(&c->back, top);
    munmap(stack, STACK);
    return NULL;
}

int main(int argc, char **argv) {
    uintptr_t data = 0x1122334455667788;
    const struct {
        const char *name;
        uintptr_t odd, frame;
    } kinds[] = {
        {"zero", 0, 0},
        {"one", 1, 1},
        {"low", 0xdeadbeef, 0xdeadbeef},
        {"dead", 0xdeadbeefdeadbeef, 0xdeadbeefdeadbee8},
        {"minus", UINTPTR_MAX, UINTPTR_MAX},
        {"edge", UINTPTR_MAX - 7, UINTPTR_MAX - 7},
        {"data", (uintptr_t)&data, (uintptr_t)&data},
        {"code", (uintptr_t)exit, 0},
        {"large", (uintptr_t)large + 24, 0},
        {"body", (uintptr_t)body + 12, 0},
    };
    struct coroutine all[THREADS];
    pthread_t threads[THREADS];
    for (size_t kind = 0; argc > 1 && kind < sizeof kinds / sizeof *kinds; kind++) {
        if (strcmp(argv[1], kinds[kind].name) == 0) {
            for (int i = 0; i < THREADS; i++) {
                all[i] = (struct coroutine){.odd = kinds[kind].odd, .frame = kinds[kind].frame};
                pthread_create(&threads[i], NULL, thread, &all[i]);
            }
            for (int i = 0; i < THREADS; i++) {
                pthread_join(threads[i], NULL);
            }
            return count == THREADS * ROUNDS ? 0 : 4;
        }
    }
    return 5;
}
