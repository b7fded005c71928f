/* Keys of thread-specific data, in a program that also contends for locks: the locks under test may need a key, and
   their threads a destructor, which is nobody else's business. */
#include "conformance.h"
#include <limits.h>
#include <threads.h>

/* Before anything was locked, and after threads contended for a lock and ended. */
enum { AT_FIRST, CONTENDED, COUNT };

static int add(void *argument)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    for (int i = 0; i < 2000; i++) {
        STEP(pthread_mutex_lock(&mutex));
        ++*(long *)argument;
        STEP(pthread_mutex_unlock(&mutex));
    }
    return 0;
}

static void contend(int variant)
{
    struct call c[3];
    long sum = 0;
    if (variant == AT_FIRST)
        return;
    for (int i = 0; i < 3; i++)
        begin(&c[i], add, &sum);
    for (int i = 0; i < 3; i++)
        MUST(end(&c[i]) == 0);
    MUST(sum == 6000);
}

static pthread_key_t never_created; /* 0, as in a program that forgot to */

SENTENCE(set_of_a_key_never_created, EINVAL, "Whatever its number.")
{
    contend(variant);
    for (pthread_key_t key = 1; key < PTHREAD_KEYS_MAX; key++)
        if (pthread_setspecific(key, &never_created) != EINVAL)
            return NO;
    return pthread_setspecific(PTHREAD_KEYS_MAX, &never_created);
}

SENTENCE(set_of_a_zero_initialised_key, EINVAL, "Also if it is 0, which is what one that was forgotten has.")
{
    contend(variant);
    return pthread_setspecific(never_created, &never_created);
}

SENTENCE(tss_set_of_a_key_never_created, YES, "C11's says thrd_error.")
{
    contend(variant);
    return yes_if(tss_set(never_created, &never_created) == thrd_error);
}

SENTENCE(get_of_a_key_never_created, OPEN, "Undefined; the C library says NULL.")
{
    contend(variant);
    return yes_if(pthread_getspecific(never_created) == NULL);
}

SENTENCE(delete_of_a_key_never_created, EINVAL, "There is nothing to delete.")
{
    contend(variant);
    for (pthread_key_t key = 0; key < PTHREAD_KEYS_MAX; key++)
        if (pthread_key_delete(key) != EINVAL)
            return NO;
    return pthread_key_delete(PTHREAD_KEYS_MAX);
}

SENTENCE(as_many_keys_as_promised, PTHREAD_KEYS_MAX, "PTHREAD_KEYS_MAX is what a program can have at least.")
{
    static pthread_key_t keys[PTHREAD_KEYS_MAX];
    pthread_key_t more;
    int made = 0;
    contend(variant);
    while (made < PTHREAD_KEYS_MAX && pthread_key_create(&keys[made], NULL) == 0)
        made++;
    int answer = pthread_key_create(&more, NULL) == EAGAIN ? made : NO;
    for (int i = 0; i < made; i++)
        STEP(pthread_key_delete(keys[i]));
    return answer;
}

static pthread_key_t key;
static int torn_down;

static void tear_down(void *value)
{
    MUST(pthread_getspecific(key) == NULL);
    torn_down += *(int *)value;
}

static int set(void *value)
{
    long sum = 0;
    STEP(add(&sum));
    STEP(pthread_setspecific(key, value));
    return pthread_getspecific(key) == value ? 0 : EDOM;
}

SENTENCE(destructors_run_at_thread_exit, 7, "Once for a value that is not NULL, which is NULL by then.")
{
    int value = 7;
    contend(variant);
    torn_down = 0;
    STEP(pthread_key_create(&key, tear_down));
    STEP(elsewhere(set, &value));
    STEP(elsewhere(set, NULL));
    STEP(pthread_key_delete(key));
    return torn_down;
}

static void set_again(void *value)
{
    torn_down++;
    MUST(pthread_setspecific(key, value) == 0);
}

SENTENCE(destructors_that_set_again, PTHREAD_DESTRUCTOR_ITERATIONS, "They run again, but not for ever.")
{
    contend(variant);
    torn_down = 0;
    STEP(pthread_key_create(&key, set_again));
    STEP(elsewhere(set, &torn_down));
    STEP(pthread_key_delete(key));
    return torn_down;
}

static void contend_once_more(void *value)
{
    contend(CONTENDED);
    torn_down += *(int *)value;
}

SENTENCE(destructors_that_lock, 3, "A thread that ends may use locks as before.")
{
    int value = 3;
    contend(variant);
    torn_down = 0;
    STEP(pthread_key_create(&key, contend_once_more));
    STEP(elsewhere(set, &value));
    STEP(pthread_key_delete(key));
    return torn_down;
}

static int set_and_delete(void *value)
{
    STEP(set(value));
    return pthread_key_delete(key);
}

SENTENCE(destructors_of_a_deleted_key, 0, "They do not run.")
{
    int value = 5;
    contend(variant);
    torn_down = 0;
    STEP(pthread_key_create(&key, tear_down));
    STEP(elsewhere(set_and_delete, &value));
    return torn_down;
}

SENTENCE(set_of_a_deleted_key, EINVAL, "It is as if it had never been.")
{
    contend(variant);
    STEP(pthread_key_create(&key, NULL));
    STEP(pthread_setspecific(key, &key));
    STEP(pthread_key_delete(key));
    return pthread_setspecific(key, &key);
}

SENTENCE(a_new_key_has_no_value, YES, "In any thread, whatever an older one of the same number had.")
{
    contend(variant);
    STEP(pthread_key_create(&key, NULL));
    STEP(pthread_setspecific(key, &key));
    STEP(pthread_key_delete(key));
    STEP(pthread_key_create(&key, NULL));
    int is_null = pthread_getspecific(key) == NULL;
    STEP(pthread_key_delete(key));
    return yes_if(is_null);
}

int main(void)
{
    static const char *const names[COUNT] = {"at first", "contended"};
    return ask_all(names, COUNT) != 0;
}
