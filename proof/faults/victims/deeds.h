/* What a victim does to its own threads while they fight over a lock. Each runs on the main thread until the driver
   says stop. */
#ifndef DEEDS_H
#define DEEDS_H
#include "kinds.h"

extern const struct kind *kind;
extern int threads;
extern pthread_t ids[THREADS];
extern _Thread_local int self; /* the thread's slot; -1: none */

/* Starts the thread of this slot; whether it could. */
int start(int slot);

/* Waits until all threads are over. Joins nobody: a join sleeps in the C library's futex calls, which some faults
   forbid. */
void await_all(void);

void cancel_threads(void);
void replace_the_gone(void);
void fork_children(void);
void storm(void);
/* Before the threads of a storm start. */
void storm_begins(void);
/* Filters of system calls (filters.c). Whether that is the deed; then a thread makes no call between lock calls. */
int is_filtered(const char *deed);
/* Installs the one that is to be there first, and starts the program again. */
void filter_first(char **argv);
void filter_while_they_fight(void);
/* A sleep that no lock would do. */
void rest_us(long us);
/* In the victim `stepped` alone (clock.c). */
void step_clock(void) __attribute__((weak));

#endif
