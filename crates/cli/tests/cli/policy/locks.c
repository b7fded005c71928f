/* Locks of all sorts; prints for each by which lock the preload library runs it. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const names[] = {"none", "adaptive", "queued", "ttas", "ticket", "libc"};

static void tell(const char *what, const pthread_mutex_t *mutex)
{
    printf("%s %s\n", what, names[((const unsigned char *)mutex)[24]]);
}

static void take(pthread_mutex_t *mutex)
{
    pthread_mutex_lock(mutex);
    pthread_mutex_unlock(mutex);
}

static pthread_mutex_t hot = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t cold = PTHREAD_MUTEX_INITIALIZER;
struct {
    long fill;
    pthread_mutex_t first, second;
} pair = {0, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
pthread_mutex_t *pointed;

__attribute__((noinline)) static pthread_mutex_t *make_job(void)
{
    pthread_mutex_t *mutex = malloc(sizeof *mutex);
    pthread_mutex_init(mutex, NULL);
    return mutex;
}

/* Optimised, this is in `main`. */
static inline pthread_mutex_t *make_inlined(void)
{
    pthread_mutex_t *mutex = malloc(sizeof *mutex);
    pthread_mutex_init(mutex, NULL); /* a test names this line */
    return mutex;
}

__attribute__((noinline)) static void take_first(pthread_mutex_t *mutex)
{
    pthread_mutex_lock(mutex);
    tell("taken", mutex);
    pthread_mutex_unlock(mutex);
}

int main(void)
{
    static pthread_mutex_t local = PTHREAD_MUTEX_INITIALIZER;
    take(&hot);
    take(&cold);
    take(&pair.first);
    take(&pair.second);
    take(&local);
    tell("hot", &hot);
    tell("cold", &cold);
    tell("first", &pair.first);
    tell("second", &pair.second);
    tell("local", &local);
    pointed = make_job();
    tell("job", pointed);
    tell("inlined", make_inlined());
    take_first(calloc(1, sizeof(pthread_mutex_t)));
    return 0;
}
