/* Static initialisers: unlocked, without waiters. */
#define TW_MUTEX_INIT { { 0, 0 } }
#define TW_COND_INIT { { 0, 0, 0 } }
#define TW_RWSEM_INIT { { 0, 0, 0 } }
#define TW_SPINLOCK_INIT { 0 }
#define TW_SEQRWLOCK_INIT { { 0, 0, 0 } }
/* Initialises a `tw_lockref` with this number of references, at most TW_REFERENCES_MAX. */
#define TW_LOCKREF_INIT(references) { (uint64_t)(references) << 32 }
/* Initialises a `tw_semaphore` with this number of permits, at most TW_PERMITS_MAX. */
#define TW_SEMAPHORE_INIT(permits) { (permits) }

/* The layouts that the library was built with. */
#ifdef __cplusplus
#define TW_ASSERT_LAYOUT(type, size, alignment)                                                                        \
    static_assert(sizeof(type) == (size) && alignof(type) == (alignment), "the library has a different " #type)
#else
#define TW_ASSERT_LAYOUT(type, size, alignment)                                                                        \
    _Static_assert(sizeof(type) == (size) && _Alignof(type) == (alignment), "the library has a different " #type)
#endif
TW_ASSERT_LAYOUT(tw_mutex, 8, 4);
TW_ASSERT_LAYOUT(tw_cond, 16, 4);
TW_ASSERT_LAYOUT(tw_rwsem, 12, 4);
TW_ASSERT_LAYOUT(tw_spinlock, 4, 4);
TW_ASSERT_LAYOUT(tw_seqrwlock, 24, 8);
TW_ASSERT_LAYOUT(tw_lockref, 8, 8);
TW_ASSERT_LAYOUT(tw_semaphore, 4, 4);

#if defined(__SANITIZE_THREAD__)
#include "turnwise_tsan.h"
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#include "turnwise_tsan.h"
#endif
#endif
