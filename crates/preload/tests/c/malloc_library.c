/* An allocator that takes pthread mutexes, as jemalloc and tcmalloc do, also in fork. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stddef.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t inner = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
unsigned long malloc_library_calls;

static void enter(void)
{
    pthread_mutex_lock(&outer);
    pthread_mutex_lock(&inner);
    pthread_mutex_lock(&inner);
    malloc_library_calls++;
}

static void leave(void)
{
    pthread_mutex_unlock(&inner);
    pthread_mutex_unlock(&inner);
    pthread_mutex_unlock(&outer);
}

void *malloc(size_t size)
{
    enter();
    void *p = __libc_malloc(size);
    leave();
    return p;
}

void *calloc(size_t n, size_t size)
{
    enter();
    void *p = __libc_calloc(n, size);
    leave();
    return p;
}

void *realloc(void *old, size_t size)
{
    enter();
    void *p = __libc_realloc(old, size);
    leave();
    return p;
}

void *memalign(size_t alignment, size_t size)
{
    enter();
    void *p = __libc_memalign(alignment, size);
    leave();
    return p;
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return memalign(alignment, size);
}

int posix_memalign(void **result, size_t alignment, size_t size)
{
    *result = memalign(alignment, size);
    return *result ? 0 : 12;
}

void free(void *p)
{
    enter();
    __libc_free(p);
    leave();
}

static void in_child(void)
{
    /* As allocators do: the child is alone, and the locks were taken by the thread that forked. */
    pthread_mutex_init(&outer, NULL);
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&inner, &attributes);
}

static void before_fork(void)
{
    pthread_mutex_lock(&outer);
    pthread_mutex_lock(&inner);
}

static void in_parent(void)
{
    pthread_mutex_unlock(&inner);
    pthread_mutex_unlock(&outer);
}

__attribute__((constructor)) static void begin(void)
{
    pthread_atfork(before_fork, in_parent, in_child);
}
