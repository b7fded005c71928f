/* Loads each plug-in of PLUGINS (with colons between), lets it work, and unloads it: the next lands where it was. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t common = PTHREAD_MUTEX_INITIALIZER;

int main(void)
{
    char *path, *rest = getenv("PLUGINS");
    while ((path = strtok_r(NULL, ":", &rest))) {
        void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (!plugin) {
            fprintf(stderr, "%s\n", dlerror());
            return 3;
        }
        void (*serve)(pthread_mutex_t *, int) = (void (*)(pthread_mutex_t *, int))dlsym(plugin, "serve");
        serve(&common, 100);
        if (dlclose(plugin))
            return 4;
    }
    return 0;
}
