/* The C library's mutex:             cc -O2 -shared -fPIC -o pthread.so pthread.c
 * its readers-writer lock: cc -DRWLOCK -O2 -shared -fPIC -o pthread.so pthread.c */
#include "turnwise_plugin.h"
#include <pthread.h>

#ifdef RWLOCK
typedef pthread_rwlock_t type;
static const char name[] = "pthread-rwlock-plugin";
static void init(void *lock) { pthread_rwlock_init(lock, NULL); }
static void destroy(void *lock) { pthread_rwlock_destroy(lock); }
static void acquire(void *lock) { pthread_rwlock_wrlock(lock); }
static void release(void *lock) { pthread_rwlock_unlock(lock); }
static int attempt(void *lock) { return pthread_rwlock_trywrlock(lock) == 0; }
static void acquire_shared(void *lock) { pthread_rwlock_rdlock(lock); }
#else
typedef pthread_mutex_t type;
static const char name[] = "pthread-plugin";
static void init(void *lock) { pthread_mutex_init(lock, NULL); }
static void destroy(void *lock) { pthread_mutex_destroy(lock); }
static void acquire(void *lock) { pthread_mutex_lock(lock); }
static void release(void *lock) { pthread_mutex_unlock(lock); }
static int attempt(void *lock) { return pthread_mutex_trylock(lock) == 0; }
#endif

const struct turnwise_plugin turnwise_plugin = {
    .abi = TURNWISE_PLUGIN_ABI,
    .name = name,
    .help = "the C library's, as a plugin",
    .size = sizeof(type),
    .align = _Alignof(type),
    .init = init,
    .destroy = destroy,
    .lock = acquire,
    .unlock = release,
    .try_lock = attempt,
#ifdef RWLOCK
    .lock_shared = acquire_shared,
    .unlock_shared = release,
#endif
};
