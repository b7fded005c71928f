/* What the preload library noted in a lock: see src/rules.rs. */
#include "check.h"

enum { ADAPTIVE, QUEUED, TTAS, TICKET, LIBC };
enum { BY_DEFAULT = -1 };

static inline uint32_t word_at(const void *object, int offset)
{
    uint32_t word;
    memcpy(&word, (const char *)object + offset, sizeof word);
    return word;
}

#define CHECK_WORD(word, policy, rule) CHECK_EQ(word, (1 + (policy)) | (1 + (rule)) << 8)
#define CHECK_MUTEX(mutex, policy, rule) CHECK_WORD(word_at(mutex, 24), policy, rule)
#define CHECK_RWLOCK(lock, policy, rule) CHECK_WORD(word_at(lock, 40), policy, rule)
