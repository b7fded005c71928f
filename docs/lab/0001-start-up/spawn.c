// Time from the spawn of a program to its end, with several values of LD_PRELOAD, in turns.
//
//   cc -O2 -o spawn spawn.c
//   ./spawn TURNS PROGRAM LIBRARY...      a LIBRARY of "-" is none
//
// Prints for each library the median, the fastest and the quartiles in microseconds, and the median of the differences
// to the first one, turn by turn, with its 95% interval by order statistics.
#define _GNU_SOURCE
#include <math.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

static double spawned(char *program, const char *library)
{
    static char preload[4096];
    char *env[] = {"PATH=/usr/bin:/bin", NULL, NULL};
    char *argv[] = {program, NULL};
    if (strcmp(library, "-")) {
        snprintf(preload, sizeof preload, "LD_PRELOAD=%s", library);
        env[1] = preload;
    }
    pid_t pid;
    int status;
    double start = now();
    if (posix_spawn(&pid, program, NULL, NULL, argv, env) || waitpid(pid, &status, 0) != pid || status) {
        fprintf(stderr, "%s does not run under %s\n", program, library);
        exit(1);
    }
    return now() - start;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    int turns = argc > 3 ? atoi(argv[1]) : 0, libraries = argc - 3;
    if (turns < 10) {
        fprintf(stderr, "usage: spawn TURNS PROGRAM LIBRARY..., at least 10 turns\n");
        return 2;
    }
    double *times = malloc(sizeof *times * turns * libraries), *sorted = malloc(sizeof *sorted * turns);
    for (int turn = 0; turn < turns; turn++)
        for (int n = 0; n < libraries; n++) {
            int library = (turn + n) % libraries;
            times[library * turns + turn] = spawned(argv[2], argv[3 + library]);
        }
    int reach = (int)ceil(0.98 * sqrt(turns));
    for (int library = 0; library < libraries; library++) {
        double *own = times + library * turns;
        memcpy(sorted, own, sizeof *sorted * turns);
        qsort(sorted, turns, sizeof *sorted, by_size);
        printf("%7.1f us (fastest %.1f, quartiles %.1f to %.1f)", sorted[turns / 2], sorted[0], sorted[turns / 4],
               sorted[turns * 3 / 4]);
        for (int turn = 0; turn < turns; turn++)
            sorted[turn] = own[turn] - times[turn];
        qsort(sorted, turns, sizeof *sorted, by_size);
        printf("  later %7.1f us (%.1f to %.1f)  %s\n", sorted[turns / 2], sorted[turns / 2 - reach],
               sorted[turns / 2 + reach], argv[3 + library]);
    }
    return 0;
}
