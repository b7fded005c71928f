/* Threads contend for a lock in a program whose file lies nowhere: `memory` runs it from memory alone, `removed`
   removes it first. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t till = PTHREAD_MUTEX_INITIALIZER;

static void *serves_customers(void *unused)
{
    for (int i = 0; i < 100; i++) {
        pthread_mutex_lock(&till);
        nanosleep(&(struct timespec){0, 1000000}, NULL);
        pthread_mutex_unlock(&till);
    }
    return unused;
}

int main(int count, char **words)
{
    if (count > 1 && !strcmp(words[1], "memory")) {
        int from = open("/proc/self/exe", O_RDONLY), to = memfd_create("hidden", MFD_CLOEXEC);
        while (sendfile(to, from, NULL, 1 << 20) > 0)
            ;
        fexecve(to, (char *[]){"hidden", NULL}, environ);
        return 3;
    }
    if (count > 1 && unlink(words[0]))
        return 4;
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, serves_customers, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
