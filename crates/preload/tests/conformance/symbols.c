/* How a program may look a function up: by name, and by name and version. Both must find the same library's, or two
   libraries work on one object (ThreadSanitizer's runtime looks some up in the one way and some in the other). */
#include "conformance.h"
#include <dlfcn.h>

static const char *const NAMES[] = {
    "pthread_mutex_init",      "pthread_mutex_destroy",      "pthread_mutex_lock",        "pthread_mutex_trylock",
    "pthread_mutex_timedlock", "pthread_mutex_clocklock",    "pthread_mutex_unlock",      "pthread_cond_init",
    "pthread_cond_destroy",    "pthread_cond_wait",          "pthread_cond_timedwait",    "pthread_cond_clockwait",
    "pthread_cond_signal",     "pthread_cond_broadcast",     "pthread_rwlock_init",       "pthread_rwlock_destroy",
    "pthread_rwlock_rdlock",   "pthread_rwlock_tryrdlock",   "pthread_rwlock_timedrdlock", "pthread_rwlock_clockrdlock",
    "pthread_rwlock_wrlock",   "pthread_rwlock_trywrlock",   "pthread_rwlock_timedwrlock", "pthread_rwlock_clockwrlock",
    "pthread_rwlock_unlock",   "pthread_spin_lock",          "mtx_init",                  "mtx_destroy",
    "mtx_lock",                "mtx_trylock",                "mtx_timedlock",             "mtx_unlock",
    "cnd_init",                "cnd_destroy",                "cnd_wait",                  "cnd_timedwait",
    "cnd_signal",              "cnd_broadcast",
};
enum { COUNT = sizeof NAMES / sizeof *NAMES };

/* The versions under which the C library may have them, on either architecture. Those of the first on condition
   variables are other functions, for objects of 2002. */
static const char *const VERSIONS[] = {"GLIBC_2.2.5", "GLIBC_2.3.2", "GLIBC_2.3.3", "GLIBC_2.2",
                                       "GLIBC_2.17",  "GLIBC_2.28",  "GLIBC_2.30",  "GLIBC_2.34"};

static const void *library_of(void *function)
{
    Dl_info found;
    return function && dladdr(function, &found) ? found.dli_fbase : NULL;
}

SENTENCE(found_by_name, YES, "There is such a function.")
{
    return yes_if(dlsym(RTLD_DEFAULT, NAMES[variant]) != NULL);
}

/* How often it is found by version; -1: not always in the library where it is found by name. */
static int same_library(const char *name, void *handle)
{
    const void *library = library_of(dlsym(handle, name));
    int count = 0;
    for (unsigned i = 0; i < sizeof VERSIONS / sizeof *VERSIONS; i++) {
        int is_another = i == 0 && strncmp(name, "pthread_cond_", 13) == 0;
        void *function = is_another ? NULL : dlvsym(handle, name, VERSIONS[i]);
        if (function && library_of(function) != library)
            return -1;
        count += function != NULL;
    }
    return count;
}

SENTENCE(found_by_version, YES, "Under whatever version it is found, it is the same library's.")
{
    return yes_if(same_library(NAMES[variant], RTLD_DEFAULT) > 0);
}

SENTENCE(next_by_version, YES, "So is the next one in line, for a library that stands before others.")
{
    return yes_if(same_library(NAMES[variant], RTLD_NEXT) > 0);
}

int main(void)
{
    return ask_all(NAMES, COUNT) != 0;
}
