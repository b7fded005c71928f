/* Locks of a module that is loaded later, by its name. */
#include "decided.h"
#include <dlfcn.h>

int main(int count, char **arguments)
{
    pthread_mutex_t before, after;
    CHECK_EQ(count, 2);
    CHECK_EQ(pthread_mutex_init(&before, NULL), 0);
    CHECK_MUTEX(&before, ADAPTIVE, BY_DEFAULT);
    void *plugin = dlopen(arguments[1], RTLD_NOW);
    CHECK(plugin);
    pthread_mutex_t *in_plugin = dlsym(plugin, "in_plugin");
    void (*make)(pthread_mutex_t *) = (void (*)(pthread_mutex_t *))dlsym(plugin, "make_by_plugin");
    CHECK(in_plugin && make);
    CHECK_EQ(pthread_mutex_lock(in_plugin), 0);
    CHECK_MUTEX(in_plugin, LIBC, 0);
    CHECK_EQ(pthread_mutex_unlock(in_plugin), 0);
    make(&after);
    CHECK_MUTEX(&after, LIBC, 0);
    CHECK_EQ(dlclose(plugin), 0);
    CHECK_EQ(pthread_mutex_lock(&after), 0);
    CHECK_EQ(pthread_mutex_unlock(&after), 0);
    CHECK_EQ(pthread_mutex_init(&after, NULL), 0);
    CHECK_MUTEX(&after, ADAPTIVE, BY_DEFAULT);
    return 0;
}
