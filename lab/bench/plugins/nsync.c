/* nsync's mu (Debian: libnsync-dev), for readers, too: cc -O2 -shared -fPIC -o nsync.so nsync.c -lnsync */
#include "turnwise_plugin.h"
#include <nsync.h>

static void init(void *lock) { nsync_mu_init(lock); }
static void acquire(void *lock) { nsync_mu_lock(lock); }
static void release(void *lock) { nsync_mu_unlock(lock); }
static int attempt(void *lock) { return nsync_mu_trylock(lock); }
static void acquire_shared(void *lock) { nsync_mu_rlock(lock); }
static void release_shared(void *lock) { nsync_mu_runlock(lock); }

const struct turnwise_plugin turnwise_plugin = {
    .abi = TURNWISE_PLUGIN_ABI,
    .name = "nsync",
    .help = "nsync's mu",
    .size = sizeof(nsync_mu),
    .align = _Alignof(nsync_mu),
    .init = init,
    .lock = acquire,
    .unlock = release,
    .try_lock = attempt,
    .lock_shared = acquire_shared,
    .unlock_shared = release_shared,
};
