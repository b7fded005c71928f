/* Concurrency Kit (Debian: libck-dev), its spin lock: cc -O2 -shared -fPIC -o ck.so ck.c
 * its readers-writer lock, which spins, too: cc -DRWLOCK -O2 -shared -fPIC -o ck.so ck.c */
#include "turnwise_plugin.h"
#include <ck_rwlock.h>
#include <ck_spinlock.h>

#ifdef RWLOCK
typedef ck_rwlock_t type;
static const char name[] = "ck-rwlock";
static void init(void *lock) { ck_rwlock_init(lock); }
static void acquire(void *lock) { ck_rwlock_write_lock(lock); }
static void release(void *lock) { ck_rwlock_write_unlock(lock); }
static int attempt(void *lock) { return ck_rwlock_write_trylock(lock); }
static void acquire_shared(void *lock) { ck_rwlock_read_lock(lock); }
static void release_shared(void *lock) { ck_rwlock_read_unlock(lock); }
#else
typedef ck_spinlock_t type;
static const char name[] = "ck-spinlock";
static void init(void *lock) { ck_spinlock_init(lock); }
static void acquire(void *lock) { ck_spinlock_lock(lock); }
static void release(void *lock) { ck_spinlock_unlock(lock); }
static int attempt(void *lock) { return ck_spinlock_trylock(lock); }
#endif

const struct turnwise_plugin turnwise_plugin = {
    .abi = TURNWISE_PLUGIN_ABI,
    .spins = 1,
    .name = name,
    .help = "Concurrency Kit's lock of that name",
    .size = sizeof(type),
    .align = _Alignof(type),
    .init = init,
    .lock = acquire,
    .unlock = release,
    .try_lock = attempt,
#ifdef RWLOCK
    .lock_shared = acquire_shared,
    .unlock_shared = release_shared,
#endif
};
