/* Critical sections, locks, reductions, tasks and single sections of OpenMP. */
#include <omp.h>
#include <stdio.h>

static long fibonacci(int n)
{
    long one, other;

    if (n < 2)
        return n;
#pragma omp task shared(one) if (n > 10)
    one = fibonacci(n - 1);
#pragma omp task shared(other) if (n > 10)
    other = fibonacci(n - 2);
#pragma omp taskwait
    return one + other;
}

int main(void)
{
    long count = 0, sum = 0, number = 0, singles = 0;
    omp_lock_t lock;

    omp_init_lock(&lock);
#pragma omp parallel for schedule(dynamic, 16)
    for (int i = 0; i < 200000; i++) {
#pragma omp critical
        count++;
        omp_set_lock(&lock);
        count++;
        omp_unset_lock(&lock);
    }
#pragma omp parallel for ordered reduction(+ : sum)
    for (int i = 0; i < 100; i++) {
#pragma omp ordered
        sum += i;
    }
#pragma omp parallel
#pragma omp single
    number = fibonacci(17);
#pragma omp parallel
    for (int i = 0; i < 20; i++) {
#pragma omp single
        singles++;
#pragma omp barrier
    }
    omp_destroy_lock(&lock);
    printf("%ld %ld %ld %ld\n", count, sum, number, singles);
    return 0;
}
