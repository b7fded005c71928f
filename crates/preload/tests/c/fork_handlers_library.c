/* Its constructor runs before the preload library's, so its handlers run before all that the preload library might
   register: in a child they find the lock as fork has left it, with waiters that are not there. */
#include "check.h"

pthread_mutex_t handled = PTHREAD_MUTEX_INITIALIZER;

static void take(void)
{
    CHECK_EQ(pthread_mutex_lock(&handled), 0);
}

static void give(void)
{
    CHECK_EQ(pthread_mutex_unlock(&handled), 0);
}

static void give_take_give(void)
{
    give();
    take();
    CHECK_EQ(pthread_mutex_trylock(&handled), EBUSY);
    give();
}

__attribute__((constructor)) static void begin(void)
{
    CHECK_EQ(pthread_atfork(take, give, give_take_give), 0);
}
