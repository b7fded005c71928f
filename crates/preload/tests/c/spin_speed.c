/* Sections a second under one spin lock: `spin_speed THREADS INSIDE OUTSIDE [MS]`; INSIDE and OUTSIDE are steps of
   an empty loop. Not a test of speed: run as a test, it checks that nothing is lost with more threads than CPUs. */
#include "check.h"

static struct {
    _Alignas(128) pthread_spinlock_t lock;
    long count;
} shared;
static int inside = 5, outside = 20, stop;

static void work(int steps)
{
    for (volatile int i = 0; i < steps; i++) {
    }
}

static void *body(void *result)
{
    long sections = 0;
    for (; !__atomic_load_n(&stop, __ATOMIC_RELAXED); sections++) {
        CHECK_EQ(pthread_spin_lock(&shared.lock), 0);
        shared.count++;
        work(inside);
        CHECK_EQ(pthread_spin_unlock(&shared.lock), 0);
        work(outside);
    }
    *(long *)result = sections;
    return NULL;
}

int main(int argc, char **argv)
{
    enum { MOST = 128 };
    pthread_t threads[MOST];
    long sections[MOST] = {0}, sum = 0;
    int number = argc > 1 ? atoi(argv[1]) : 4, ms = argc > 4 ? atoi(argv[4]) : argc > 1 ? 1000 : 200;
    CHECK(number > 0 && number <= MOST);
    if (argc > 3) {
        inside = atoi(argv[2]);
        outside = atoi(argv[3]);
    }
    CHECK_EQ(pthread_spin_init(&shared.lock, PTHREAD_PROCESS_PRIVATE), 0);
    for (int i = 0; i < number; i++)
        threads[i] = start(body, &sections[i]);
    sleep_ms(ms);
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < number; i++) {
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
        CHECK(sections[i] > 0);
        sum += sections[i];
    }
    CHECK_EQ(sum, shared.count);
    printf("%.3f million sections a second\n", sum / 1000.0 / ms);
    return 0;
}
