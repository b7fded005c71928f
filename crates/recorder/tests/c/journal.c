/*
 * A thread that takes many locks by turns, each under another and with one under it: `journal NAME`.
 */
#define _GNU_SOURCE
#include "sleeps.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LOCKS = 1024, ROUNDS = 60 };

pthread_rwlock_t outer = PTHREAD_RWLOCK_INITIALIZER;
pthread_mutex_t array[LOCKS], inner = PTHREAD_MUTEX_INITIALIZER, late = PTHREAD_MUTEX_INITIALIZER,
                held = PTHREAD_MUTEX_INITIALIZER, made;
static atomic_int stage, waiter, is_through;

static void await(int wanted)
{
    while (stage < wanted)
        usleep(100);
}

static void many(int rounds)
{
    for (int round = 0; round < rounds; round++)
        for (int i = 0; i < LOCKS; i++) {
            pthread_rwlock_rdlock(&outer);
            pthread_mutex_lock(&array[i]);
            pthread_mutex_lock(&inner);
            pthread_mutex_unlock(&inner);
            pthread_mutex_unlock(&array[i]);
            pthread_rwlock_unlock(&outer);
        }
}

static void under(pthread_mutex_t *above, pthread_mutex_t *below)
{
    pthread_mutex_lock(above);
    pthread_mutex_lock(below);
    pthread_mutex_unlock(below);
    pthread_mutex_unlock(above);
}

/* The lock taken first is released first, and one is tried. */
static void chain(int times)
{
    for (int i = 0; i < times; i++) {
        pthread_mutex_lock(&array[0]);
        pthread_mutex_lock(&array[1]);
        pthread_mutex_unlock(&array[0]);
        if (pthread_mutex_trylock(&array[2]))
            abort();
        pthread_mutex_unlock(&array[1]);
        pthread_mutex_unlock(&array[2]);
    }
}

static void __attribute__((noinline)) keep(void)
{
    pthread_mutex_lock(&held);
    stage = 1;
    await_asleep(&waiter);
    usleep(100000);
    pthread_mutex_unlock(&held);
}

static void *other(void *unused)
{
    many(ROUNDS);
    is_through = 1;
    await(1);
    waiter = my_tid();
    pthread_mutex_lock(&held);
    pthread_mutex_unlock(&held);
    under(&late, &array[5]);
    return unused;
}

/* Two locks at one address, one after the other. */
static void reuse(int times)
{
    pthread_mutex_init(&made, NULL);
    for (int i = 0; i < times; i++) {
        pthread_mutex_lock(&made);
        pthread_mutex_unlock(&made);
    }
    pthread_mutex_destroy(&made);
}

int main(int arguments, char **names)
{
    pthread_t id;
    for (int i = 0; i < LOCKS; i++)
        array[i] = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    if (arguments > 1 && strcmp(names[1], "cut") == 0) {
        many(ROUNDS);
        pthread_rwlock_rdlock(&outer);
        pthread_mutex_lock(&inner);
        _exit(0);
    }
    if (pthread_create(&id, NULL, other, NULL))
        abort();
    many(ROUNDS);
    reuse(31);
    reuse(17);
    while (!is_through) /* it takes the locks that the chain tries */
        usleep(100);
    chain(1000);
    keep();
    under(&array[5], &late);
    pthread_join(id, NULL);
    return 0;
}
