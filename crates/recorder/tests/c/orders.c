/*
 * Orders of locks: `orders NAME`. The threads of a scenario run one after the other, so that none waits; each is a
 * text, and lives until all have run, or with `.` at its end, only until the next begins. A lower-case letter takes a
 * lock, an upper-case one releases it; of the locks, `r` and `s` are readers-writer locks, `z` is recursive, `p` a spin
 * lock, `i`, `j` and `k` are elements of an array, and all others are mutexes.
 * Before a letter: `?` tries, `!` writes, `~` waits on a condition variable with the mutex until its time is up, `*`
 * destroys the lock and makes it again, `#` only tries to destroy it. `@` takes all of `crowd`, more locks than the
 * recorder follows, `=` releases them, and `%` takes and releases many others by turns.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CROWD = 40, MANY = 1024 };

pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER, c = PTHREAD_MUTEX_INITIALIZER,
                d = PTHREAD_MUTEX_INITIALIZER, g = PTHREAD_MUTEX_INITIALIZER, h = PTHREAD_MUTEX_INITIALIZER,
                z = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP, e[3], crowd[CROWD], many[MANY];
pthread_rwlock_t r = PTHREAD_RWLOCK_INITIALIZER, s = PTHREAD_RWLOCK_INITIALIZER;
pthread_spinlock_t p;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;

static pthread_mutex_t *mutex(char name)
{
    switch (name) {
    case 'a': return &a;
    case 'b': return &b;
    case 'c': return &c;
    case 'd': return &d;
    case 'g': return &g;
    case 'h': return &h;
    case 'z': return &z;
    case 'i': case 'j': case 'k': return &e[name - 'i'];
    default: abort();
    }
}

static pthread_rwlock_t *rwlock(char name)
{
    return name == 'r' ? &r : name == 's' ? &s : NULL;
}

static int take(char name, int writes)
{
    pthread_rwlock_t *lock = rwlock(name);
    if (name == 'p')
        return pthread_spin_lock(&p);
    if (lock)
        return writes ? pthread_rwlock_wrlock(lock) : pthread_rwlock_rdlock(lock);
    return pthread_mutex_lock(mutex(name));
}

static int release(char name)
{
    pthread_rwlock_t *lock = rwlock(name);
    if (name == 'p')
        return pthread_spin_unlock(&p);
    return lock ? pthread_rwlock_unlock(lock) : pthread_mutex_unlock(mutex(name));
}

static int wait_in_vain(pthread_mutex_t *lock)
{
    struct timespec past = {.tv_sec = 1};
    return pthread_cond_timedwait(&never, lock, &past) == ETIMEDOUT ? 0 : 1;
}

static int make_again(pthread_mutex_t *lock)
{
    return pthread_mutex_destroy(lock) || pthread_mutex_init(lock, NULL);
}

static int destroy(pthread_mutex_t *lock)
{
    int failed = pthread_mutex_destroy(lock);
    return failed == EBUSY ? 0 : failed;
}

static int all(int (*do_it)(pthread_mutex_t *))
{
    int failed = 0;
    for (int n = 0; n < CROWD; n++)
        failed |= do_it(&crowd[n]);
    return failed;
}

/* So many locks by turns that the recorder counts them later. */
static int by_turns(void)
{
    for (int n = 0; n < 60 * MANY; n++)
        if (pthread_mutex_lock(&many[n % MANY]) || pthread_mutex_unlock(&many[n % MANY]))
            return 1;
    return 0;
}

/* Does one operation; returns how many letters it has. */
static int step(const char *at)
{
    int failed;
    switch (*at) {
    case '@': failed = all(pthread_mutex_lock); break;
    case '=': failed = all(pthread_mutex_unlock); break;
    case '%': failed = by_turns(); break;
    case '?': failed = pthread_mutex_trylock(mutex(at[1])); break;
    case '!': failed = take(at[1], 1); break;
    case '~': failed = wait_in_vain(mutex(at[1])); break;
    case '#': failed = destroy(mutex(at[1])); break;
    case '*': failed = make_again(mutex(at[1])); break;
    default: failed = isupper((unsigned char)*at) ? release((char)tolower((unsigned char)*at)) : take(*at, 0);
    }
    if (failed && failed != EPERM && *at != '?')
        abort();
    return strchr("?!~*#", *at) ? 2 : 1;
}

static void run(const char *at)
{
    for (; *at && *at != '.'; at += step(at))
        ;
}

enum { THREADS = 4 };
/* How many threads have run, and whether all have. */
static atomic_int ran, over;

static void *run_thread(void *text)
{
    run(text);
    ran++;
    while (!strchr(text, '.') && !over)
        usleep(100);
    return NULL;
}

static void run_threads(const char *const texts[THREADS])
{
    pthread_t ids[THREADS];
    int number = 0;
    for (; number < THREADS && texts[number]; number++) {
        if (pthread_create(&ids[number], NULL, run_thread, (void *)texts[number]))
            abort();
        while (ran == number)
            usleep(100);
        if (strchr(texts[number], '.') && pthread_join(ids[number], NULL))
            abort();
    }
    over = 1;
    while (number--)
        if (!strchr(texts[number], '.') && pthread_join(ids[number], NULL))
            abort();
    over = ran = 0;
}

static const struct {
    const char *name, *threads[THREADS];
    /* What the first thread of all, and what a child of it, does meanwhile. */
    const char *meanwhile, *child[THREADS];
} scenarios[] = {
    {.name = "pair", .threads = {"abBA", "baAB"}},
    {.name = "three", .threads = {"abBA", "bcCB", "caAC"}},
    {.name = "four", .threads = {"abBA", "bcCB", "cdDC", "daAD"}},
    {.name = "two pairs", .threads = {"abBA", "baAB", "bcCB", "cbBC"}},
    {.name = "one order", .threads = {"abcCBA", "bcCB", "acCA"}},
    {.name = "spin lock", .threads = {"apPA", "paAP"}},
    {.name = "c above a", .threads = {"caAC"}},
    {.name = "in part", .threads = {"abcCBA", "caAC"}},

    {.name = "gate", .threads = {"gabBAG", "gbaABG"}},
    {.name = "gate of three", .threads = {"gabBAG", "bcCB", "gcaACG"}},
    {.name = "gate left once", .threads = {"gabBAGabBA", "gbaABG"}},
    {.name = "different gates", .threads = {"gabBAG", "hbaABH"}},
    {.name = "released gate", .threads = {"gaGbBA", "gbGaAB"}},
    {.name = "one of two gates each time", .threads = {"gabBAGhabBAH", "ghbaABHG"}},
    {.name = "gate between", .threads = {"agbBGA", "bgaAGB"}},
    {.name = "gate of readers", .threads = {"rabBAR", "rbaABR"}},
    {.name = "gate of a writer", .threads = {"!rabBAR", "rbaABR"}},
    {.name = "tried gate", .threads = {"?gabBAG", "?gbaABG"}},
    {.name = "gate counted later", .threads = {"%gabBAG%", "%gbaABG%"}},
    {.name = "counted later", .threads = {"%abBA%", "%gbaABG%"}},
    {.name = "forgotten gate", .threads = {"g@=abBAG", "gbaABG"}},
    {.name = "after a forgotten lock", .threads = {"@=abBA", "gbaABG"}},
    {.name = "gate above many", .threads = {"g@abBA=G", "gbaABG"}},

    {.name = "readers", .threads = {"rsSR", "srRS"}},
    {.name = "reader under a mutex", .threads = {"arRA", "raAR"}},
    {.name = "writer under a mutex", .threads = {"a!rRA", "raAR"}},
    {.name = "writers", .threads = {"r!sSR", "s!rRS"}},
    {.name = "one way reads", .threads = {"r!sSR", "!srRS"}},

    {.name = "tried second", .threads = {"a?bBA", "b?aAB"}},
    {.name = "tried second once", .threads = {"abBA", "b?aAB"}},
    {.name = "tried first", .threads = {"?abBA", "?baAB"}},
    {.name = "tried in vain", .threads = {"?bcC"}, .meanwhile = "bBcbBC"},

    {.name = "one thread", .threads = {"abBAbaAB"}},
    {.name = "two such threads", .threads = {"abBAbaAB", "abBAbaAB"}},
    {.name = "never together", .threads = {"abBA.", "baAB"}},
    {.name = "the third together", .threads = {"abBA.", "baAB", "abBA"}},
    {.name = "three not together", .threads = {"abBA.", "bcCB", "caAC"}},
    {.name = "taken again", .threads = {"zazZAZ", "zaAZ"}},
    {.name = "wait", .threads = {"a~aA", "ab~bBA"}},
    {.name = "wait with a lock held", .threads = {"ba~bAB", "ba~bAB"}},
    {.name = "wait with the outer lock", .threads = {"ab~aBA"}},
    {.name = "made again", .threads = {"abBA", "*a", "baAB"}},
    {.name = "array in order", .threads = {"ijJI", "jkKJ", "ikKI"}},
    {.name = "array in both orders", .threads = {"ijJI", "jiIJ"}},
    {.name = "released by another", .threads = {"cCA", "baAB"}, .meanwhile = "abB"},
    {.name = "released by a first call", .threads = {"A", "baAB"}, .meanwhile = "abB"},
    {.name = "released twice", .threads = {"aAA"}},
    {.name = "destroyed by its holder", .threads = {"a#aA"}},
    {.name = "destroyed by another", .threads = {"#a"}, .meanwhile = "aA"},
    {.name = "waited without", .threads = {"~aA"}},
    {.name = "ended with", .threads = {"a"}},
    {.name = "checked by the mutex", .threads = {"Z", "z"}},
    {.name = "child", .threads = {"abBA"}, .child = {"baAB"}},
    {.name = "in a child", .threads = {"bB"}, .child = {"abBA", "baAB"}},
};

static void run_child(const char *const threads[THREADS])
{
    pid_t child = fork();
    int status = 0;
    if (child == 0) {
        run_threads(threads);
        _exit(0);
    }
    if (waitpid(child, &status, 0) != child || status)
        abort();
}

int main(int arguments, char **names)
{
    pthread_spin_init(&p, 0);
    for (size_t n = 0; n < sizeof scenarios / sizeof *scenarios; n++) {
        if (arguments < 2 || strcmp(scenarios[n].name, names[1]))
            continue;
        const char *meanwhile = scenarios[n].meanwhile;
        int first = meanwhile ? step(meanwhile) : 0;
        run_threads(scenarios[n].threads);
        if (meanwhile)
            run(meanwhile + first);
        if (scenarios[n].child[0])
            run_child(scenarios[n].child);
        return 0;
    }
    fprintf(stderr, "no such scenario\n");
    return 2;
}
