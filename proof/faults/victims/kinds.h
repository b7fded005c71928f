/* The locks that victims fight over. Each has a way in, a way out, and perhaps a try. */
#ifndef KINDS_H
#define KINDS_H
#include "board.h"

struct kind {
    const char *name;
    void (*enter)(int me);
    void (*leave)(int me);
    int (*try)(void); /* whether it has the lock now; NULL: not made for handlers */
    int (*until)(const struct timespec *time);
};

extern const struct kind kinds[];
extern pthread_mutex_t mutex; /* of all kinds that are a mutex */

const struct kind *kind_of(const char *name);
void kinds_start(const char *name, int threads);
/* At the end: lets those go on who wait for others that are gone. */
void kinds_stir(void);
/* At the end: ends the update that a dead owner of a robust mutex began. */
void kinds_repair(void);

/* The protected data. Ordinary memory: a child has its own. */
struct pair {
    uint64_t first;
    char gap[128];
    uint64_t second;
    uint32_t inside;
};
extern struct pair pair;

/* The two halves of an update. The thread has the lock from one to the other. */
void begin(int me);
void end(void);

#endif
