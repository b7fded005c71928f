/* Loads a module and prints by which lock the preload library runs the one that it makes. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

int main(int count, char **arguments)
{
    pthread_mutex_t mutex;
    void *module = count == 2 ? dlopen(arguments[1], RTLD_NOW) : NULL;
    void (*make)(pthread_mutex_t *) = module ? (void (*)(pthread_mutex_t *))dlsym(module, "make") : NULL;
    if (!make)
        return 1;
    make(&mutex);
    printf("%d\n", ((unsigned char *)&mutex)[24]);
    return 0;
}
