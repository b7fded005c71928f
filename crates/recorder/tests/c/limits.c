/* A program that limits itself, or leaves the place where its files are, as KIND says. A child takes locks, too. */
#define _GNU_SOURCE
#include <grp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MANY = 200000, ROUNDS = 1000, NOBODY = 65534, MB = 1 << 20 };

static pthread_mutex_t parents = PTHREAD_MUTEX_INITIALIZER, childs = PTHREAD_MUTEX_INITIALIZER;

static void limit(int resource, rlim_t most) {
    const struct rlimit limit = {most, most};
    if (setrlimit(resource, &limit)) {
        _exit(3);
    }
}

static void take(pthread_mutex_t *mutex) {
    for (int round = 0; round < ROUNDS; round++) {
        pthread_mutex_lock(mutex);
        pthread_mutex_unlock(mutex);
    }
}

/* More locks than there is room for. */
static void take_many(void) {
    pthread_mutex_t *many = calloc(MANY, sizeof *many);
    for (int i = 0; many && i < MANY; i++) {
        pthread_mutex_lock(&many[i]);
        pthread_mutex_unlock(&many[i]);
    }
    free(many);
}

static void become(const char *kind) {
    if (!strcmp(kind, "memory")) {
        limit(RLIMIT_AS, 200 * MB);
        take_many();
    } else if (!strcmp(kind, "locked") && mlockall(MCL_CURRENT | MCL_FUTURE)) {
        _exit(4);
    } else if (!strcmp(kind, "file-size")) {
        limit(RLIMIT_FSIZE, 8192);
    } else if (!strcmp(kind, "descriptors")) {
        limit(RLIMIT_NOFILE, 0);
    }
}

static void become_in_child(const char *kind) {
    int fails = 0;
    if (!strcmp(kind, "user")) {
        fails = setgroups(0, NULL) || setgid(NOBODY) || setuid(NOBODY);
    } else if (!strcmp(kind, "root")) {
        fails = chroot("/sys") || chdir("/") || setreuid(NOBODY, NOBODY);
    } else if (!strcmp(kind, "syscall")) {
        fails = syscall(105 /* setuid */, NOBODY) != 0;
    }
    if (fails) {
        _exit(5);
    }
}

int main(int argc, char **argv) {
    const char *kind = argc > 1 ? argv[1] : "";
    int status = 0;
    take(&parents);
    become(kind);
    pid_t child = fork();
    if (child == 0) {
        become_in_child(kind);
        take(&childs);
        _exit(0);
    }
    return child < 0 || waitpid(child, &status, 0) != child || status != 0;
}
