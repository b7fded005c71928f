/* Readers in RCU sections while versions are replaced and freed by call_rcu. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <urcu.h>

struct version {
    long one, other;
    struct rcu_head head;
};

static struct version *current;
static int end;

static void release(struct rcu_head *head)
{
    struct version *old = caa_container_of(head, struct version, head);

    old->one = -1;
    free(old);
}

static void *read_all(void *torn)
{
    rcu_register_thread();
    while (!uatomic_read(&end)) {
        rcu_read_lock();
        struct version *seen = rcu_dereference(current);
        *(long *)torn += seen->one < 0 || seen->one != seen->other;
        rcu_read_unlock();
    }
    rcu_unregister_thread();
    return NULL;
}

int main(void)
{
    pthread_t readers[4];
    long torn[4] = { 0 }, last = 0;

    current = calloc(1, sizeof *current);
    rcu_register_thread();
    for (int i = 0; i < 4; i++)
        pthread_create(&readers[i], NULL, read_all, &torn[i]);
    for (long i = 1; i <= 2000; i++) {
        struct version *next = malloc(sizeof *next), *old = current;
        next->one = next->other = last = i;
        rcu_assign_pointer(current, next);
        call_rcu(&old->head, release);
        if (i % 100 == 0)
            synchronize_rcu();
    }
    rcu_barrier();
    uatomic_set(&end, 1);
    rcu_thread_offline();
    for (int i = 0; i < 4; i++)
        pthread_join(readers[i], NULL);
    rcu_thread_online();
    rcu_unregister_thread();
    printf("%ld %ld\n", last, torn[0] + torn[1] + torn[2] + torn[3]);
    return 0;
}
