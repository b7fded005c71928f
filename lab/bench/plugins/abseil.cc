// abseil's Mutex (Debian: libabsl-dev), for readers, too:
// c++ -O2 -shared -fPIC -o abseil.so abseil.cc -labsl_synchronization
#include "turnwise_plugin.h"
#include <absl/synchronization/mutex.h>
#include <new>

static absl::Mutex *of(void *lock) { return static_cast<absl::Mutex *>(lock); }

static void init(void *lock) {
    // Debian's library is compiled for debugging, and would look for deadlocks at each lock.
    absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
    new (lock) absl::Mutex;
}
static void destroy(void *lock) { of(lock)->~Mutex(); }
static void acquire(void *lock) { of(lock)->Lock(); }
static void release(void *lock) { of(lock)->Unlock(); }
static int attempt(void *lock) { return of(lock)->TryLock(); }
static void acquire_shared(void *lock) { of(lock)->ReaderLock(); }
static void release_shared(void *lock) { of(lock)->ReaderUnlock(); }

const struct turnwise_plugin turnwise_plugin = {
    TURNWISE_PLUGIN_ABI,
    0,
    "abseil",
    "abseil's Mutex",
    sizeof(absl::Mutex),
    alignof(absl::Mutex),
    init,
    destroy,
    acquire,
    release,
    attempt,
    acquire_shared,
    release_shared,
};
