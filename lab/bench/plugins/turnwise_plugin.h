/* A lock as `turnwise-lab bench --plugin FILE` takes it: a shared object that defines `turnwise_plugin`, below.
 * docs/bench-plugins.md says how to build one; the other files of this folder are examples. */
#ifndef TURNWISE_PLUGIN_H
#define TURNWISE_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Says that the table is one, and of this version. */
#define TURNWISE_PLUGIN_ABI 0x54570001u

/* Every function gets the address of `size` bytes that are aligned to `align` and stay where they are. Those that need
 * not be there are NULL. */
struct turnwise_plugin {
    uint32_t abi;        /* TURNWISE_PLUGIN_ABI */
    uint32_t spins;      /* 1: its waiters never sleep, so it is no substitute for locks whose waiters do; else 0 */
    const char *name;    /* what --against and the report call it: letters, digits and any of . _ - */
    const char *help;    /* a line for lists, or NULL */
    size_t size;         /* of a lock in bytes, 1 to 65536 */
    size_t align;        /* a power of two, 1 to 128 */

    void (*init)(void *lock);           /* makes an unlocked lock of zero bytes; NULL: zero bytes are one */
    void (*destroy)(void *lock);        /* nobody has it; NULL: there is nothing to do */
    void (*lock)(void *lock);           /* waits until no other thread has it in any way, and takes it */
    void (*unlock)(void *lock);         /* by the thread that called `lock` */
    int (*try_lock)(void *lock);        /* does not wait: 1 if it took it, 0 if somebody has it; or NULL */
    void (*lock_shared)(void *lock);    /* as `lock`, but beside others that did so; or NULL */
    void (*unlock_shared)(void *lock);  /* by a thread that called `lock_shared`; NULL if that is */
};

/* What the shared object must define. */
#ifdef __GNUC__
__attribute__((visibility("default")))
#endif
extern const struct turnwise_plugin turnwise_plugin;

#ifdef __cplusplus
}
#endif

#endif
