/* The library of first_use.c. OBJECTS says what the function is called with: "ours": a free lock of our own; "foreign":
   one of those that are the C library's (process-shared), written as its initialisers would; "taken": one that another
   thread has, and releases after a while. */
#include "check.h"
#include <semaphore.h>
#include <sys/syscall.h>
#include <threads.h>

/* Of all that a program can call, in one type: what a function does not take it does not see. */
typedef long any_fn(void *, void *, void *, void *);

static any_fn *function;
static pthread_mutex_t mutex;
static pthread_cond_t cond;
static pthread_rwlock_t rwlock;
#ifdef __x86_64__
static pthread_spinlock_t spin = 1; /* free, as the C library has it there */
#else
static pthread_spinlock_t spin;
#endif
static pthread_key_t key;
static sem_t semaphore;
static pthread_barrier_t barrier;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static uint32_t counts[6];
static struct timespec at;
static volatile int holds, is_done;
static void *volatile begun;

enum object {
    MUTEX, COND, RWLOCK, SPIN, KEY, NO_KEY, THREAD, THREAD_OF_C11, EVENTS, CALL, PROCESS, PROGRAM, CHILD,
    SEMAPHORE, BARRIER, JOIN, ONCE
};
enum shape {
    ALONE,    /* the object, or the object and NULL */
    TIMED,    /* and a time */
    CLOCKED,  /* and a clock and a time */
    FOREIGNER /* a mutex that others have: may fail */
};

/* Every function that the libraries export. */
static const struct known {
    const char *name;
    enum object object;
    enum shape shape;
} table[] = {
    {"pthread_mutex_init", MUTEX, ALONE},
    {"pthread_mutex_destroy", MUTEX, ALONE},
    {"pthread_mutex_lock", MUTEX, ALONE},
    {"pthread_mutex_trylock", MUTEX, ALONE},
    {"pthread_mutex_timedlock", MUTEX, TIMED},
    {"pthread_mutex_clocklock", MUTEX, CLOCKED},
    {"pthread_mutex_unlock", MUTEX, FOREIGNER},
    {"__pthread_mutex_init", MUTEX, ALONE},
    {"__pthread_mutex_destroy", MUTEX, ALONE},
    {"__pthread_mutex_lock", MUTEX, ALONE},
    {"__pthread_mutex_trylock", MUTEX, ALONE},
    {"__pthread_mutex_unlock", MUTEX, FOREIGNER},
    {"mtx_init", MUTEX, ALONE},
    {"mtx_destroy", MUTEX, ALONE},
    {"mtx_lock", MUTEX, ALONE},
    {"mtx_trylock", MUTEX, ALONE},
    {"mtx_timedlock", MUTEX, TIMED},
    {"mtx_unlock", MUTEX, FOREIGNER},
    {"turnwise_mutex_trylock", MUTEX, ALONE},
    {"pthread_cond_init", COND, ALONE},
    {"pthread_cond_destroy", COND, ALONE},
    {"pthread_cond_signal", COND, ALONE},
    {"pthread_cond_broadcast", COND, ALONE},
    {"pthread_cond_wait", COND, FOREIGNER},
    {"pthread_cond_timedwait", COND, TIMED},
    {"pthread_cond_clockwait", COND, CLOCKED},
    {"cnd_init", COND, ALONE},
    {"cnd_destroy", COND, ALONE},
    {"cnd_signal", COND, ALONE},
    {"cnd_broadcast", COND, ALONE},
    {"cnd_wait", COND, FOREIGNER},
    {"cnd_timedwait", COND, TIMED},
    {"pthread_rwlock_init", RWLOCK, ALONE},
    {"pthread_rwlock_destroy", RWLOCK, ALONE},
    {"pthread_rwlock_rdlock", RWLOCK, ALONE},
    {"pthread_rwlock_tryrdlock", RWLOCK, ALONE},
    {"pthread_rwlock_timedrdlock", RWLOCK, TIMED},
    {"pthread_rwlock_clockrdlock", RWLOCK, CLOCKED},
    {"pthread_rwlock_wrlock", RWLOCK, ALONE},
    {"pthread_rwlock_trywrlock", RWLOCK, ALONE},
    {"pthread_rwlock_timedwrlock", RWLOCK, TIMED},
    {"pthread_rwlock_clockwrlock", RWLOCK, CLOCKED},
    {"pthread_rwlock_unlock", RWLOCK, FOREIGNER},
    {"__pthread_rwlock_init", RWLOCK, ALONE},
    {"__pthread_rwlock_destroy", RWLOCK, ALONE},
    {"__pthread_rwlock_rdlock", RWLOCK, ALONE},
    {"__pthread_rwlock_tryrdlock", RWLOCK, ALONE},
    {"__pthread_rwlock_wrlock", RWLOCK, ALONE},
    {"__pthread_rwlock_trywrlock", RWLOCK, ALONE},
    {"__pthread_rwlock_unlock", RWLOCK, FOREIGNER},
    {"turnwise_rwlock_trywrlock", RWLOCK, ALONE},
    {"pthread_spin_init", SPIN, ALONE},
    {"pthread_spin_destroy", SPIN, ALONE},
    {"pthread_spin_lock", SPIN, ALONE},
    {"pthread_spin_trylock", SPIN, ALONE},
    {"pthread_spin_unlock", SPIN, FOREIGNER},
    {"pthread_key_create", KEY, ALONE},
    {"__pthread_key_create", KEY, ALONE},
    {"pthread_key_delete", NO_KEY, ALONE},
    {"pthread_setspecific", NO_KEY, ALONE},
    {"tss_create", KEY, ALONE},
    {"tss_delete", NO_KEY, ALONE},
    {"tss_set", NO_KEY, ALONE},
    {"pthread_create", THREAD, ALONE},
    {"thrd_create", THREAD_OF_C11, ALONE},
    {"turnwise_thread_events", EVENTS, ALONE},
    {"prctl", CALL, ALONE},
    {"turnwise_prctl", CALL, ALONE},
    {"syscall", CALL, ALONE},
    {"turnwise_syscall", CALL, ALONE},
    {"sem_wait", SEMAPHORE, ALONE},
    {"sem_timedwait", SEMAPHORE, TIMED},
    {"sem_clockwait", SEMAPHORE, CLOCKED},
    {"sem_post", SEMAPHORE, ALONE},
    {"pthread_barrier_wait", BARRIER, ALONE},
    {"pthread_join", JOIN, ALONE},
    {"pthread_timedjoin_np", JOIN, TIMED},
    {"pthread_clockjoin_np", JOIN, CLOCKED},
    {"pthread_once", ONCE, ALONE},
    {"chroot", PROCESS, ALONE},
    {"setuid", PROCESS, ALONE},
    {"seteuid", PROCESS, ALONE},
    {"setreuid", PROCESS, ALONE},
    {"setresuid", PROCESS, ALONE},
    {"setrlimit", PROCESS, ALONE},
    {"setrlimit64", PROCESS, ALONE},
    {"execve", PROGRAM, ALONE},
    {"execv", PROGRAM, ALONE},
    {"execvp", PROGRAM, ALONE},
    {"execvpe", PROGRAM, ALONE},
    {"execl", PROGRAM, ALONE},
    {"execlp", PROGRAM, ALONE},
    {"execle", PROGRAM, ALONE},
    {"fexecve", PROGRAM, ALONE},
    {"execveat", PROGRAM, ALONE},
    {"posix_spawn", CHILD, ALONE},
    {"posix_spawnp", CHILD, ALONE},
};

static const struct known *known(const char *name)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (!strcmp(table[i].name, name))
            return &table[i];
    fprintf(stderr, "no line in the table for %s\n", name);
    _exit(1);
}

static void on_object(const struct known *k, void *object)
{
    if (k->shape == TIMED)
        function(object, &at, NULL, NULL);
    else if (k->shape == CLOCKED)
        function(object, (void *)(intptr_t)CLOCK_REALTIME, &at, NULL);
    else
        function(object, NULL, NULL, NULL);
}

/* Waits are ended by `waker`, or by their time. */
static void on_cond(const struct known *k)
{
    int waits = k->shape != ALONE;
    if (waits)
        pthread_mutex_lock(&mutex);
    if (k->shape == CLOCKED)
        function(&cond, &mutex, (void *)(intptr_t)CLOCK_REALTIME, &at);
    else
        function(&cond, waits ? &mutex : NULL, &at, NULL);
    if (waits)
        pthread_mutex_unlock(&mutex);
}

static void *next(void *argument)
{
    begun = argument;
    return argument;
}

static int next_of_c11(void *argument)
{
    begun = argument;
    return -7;
}

static void initialise(void)
{
    begun = &once;
}

static void on_join(const struct known *k)
{
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, next, NULL) == 0);
    void *id = (void *)thread;
    long result = k->shape == CLOCKED ? function(id, NULL, (void *)(intptr_t)CLOCK_REALTIME, &at)
                                      : function(id, NULL, &at, NULL);
    CHECK((int)result == 0 || (k->shape != ALONE && pthread_join(thread, NULL) == 0));
}

static void *worker(void *line)
{
    const struct known *k = line;
    switch (k->object) {
    case MUTEX: on_object(k, &mutex); break;
    case COND: on_cond(k); break;
    case RWLOCK: on_object(k, &rwlock); break;
    case SPIN: on_object(k, (void *)&spin); break;
    case KEY: on_object(k, &key); break;
    case NO_KEY: on_object(k, NULL); break; /* 0: nobody made it */
    case THREAD: {
        pthread_t thread;
        CHECK(function(&thread, NULL, (void *)next, &thread) == 0);
        CHECK(pthread_join(thread, NULL) == 0 && begun == &thread);
        break;
    }
    case THREAD_OF_C11: {
        thrd_t thread;
        int answer = 0;
        CHECK(function(&thread, (void *)next_of_c11, &thread, NULL) == thrd_success);
        CHECK(thrd_join(thread, &answer) == thrd_success && begun == &thread && answer == -7);
        break;
    }
    case PROCESS: /* of which nothing is to change */
        function((void *)-1, (void *)-1, (void *)-1, NULL);
        break;
    case PROGRAM: /* that is not there */
        function("/turnwise/no/such/program", NULL, NULL, NULL);
        break;
    case CHILD: {
        char *none[] = {NULL};
        pid_t child;
        int (*spawn)(pid_t *, const char *, void *, void *, char **, char **) = (void *)function;
        CHECK(spawn(&child, "/turnwise/no/such/program", NULL, NULL, none, none) != 0);
        break;
    }
    case SEMAPHORE: on_object(k, &semaphore); break; /* free */
    case BARRIER: on_object(k, &barrier); break; /* of one */
    case JOIN: on_join(k); break;
    case ONCE:
        CHECK(function(&once, (void *)initialise, NULL, NULL) == 0 && begun == &once);
        break;
    case EVENTS: function((void *)1, &mutex, counts, (void *)6); break;
    case CALL: function((void *)SYS_getpid, NULL, NULL, NULL); break; /* a question, as a number of `prctl`, too */
    }
    is_done = 1;
    return NULL;
}

static void *waker(void *unused)
{
    while (!is_done) {
        pthread_cond_broadcast(&cond);
        sleep_ms(1);
    }
    return unused;
}

static void *holder(void *line)
{
    const struct known *k = line;
    if (k->object == RWLOCK)
        pthread_rwlock_wrlock(&rwlock);
    else if (k->object == SPIN)
        pthread_spin_lock(&spin);
    else
        pthread_mutex_lock(&mutex);
    holds = 1;
    sleep_ms(20);
    if (k->object == RWLOCK)
        pthread_rwlock_unlock(&rwlock);
    else if (k->object == SPIN)
        pthread_spin_unlock(&spin);
    else
        pthread_mutex_unlock(&mutex);
    return NULL;
}

/* As the C library's initialisers of process-shared objects write them. */
static void make_foreign(void)
{
    mutex.__data.__kind |= 128;
    rwlock.__data.__shared = 1;
    cond.__data.__wrefs = 1;
}

__attribute__((constructor)) static void load(void)
{
    const struct known *k = known(getenv("FUNCTION"));
    const char *objects = getenv("OBJECTS");
    int is_taken = !strcmp(objects, "taken");
    pthread_t other = 0;
    function = (any_fn *)strtoul(getenv("ADDRESS"), NULL, 16);
    CHECK(sem_init(&semaphore, 0, 1) == 0 && pthread_barrier_init(&barrier, NULL, 1) == 0);
    if (!strcmp(objects, "foreign"))
        make_foreign();
    /* Who unlocks what others have gets an error, if the lock knows its owner. */
    if (k->object == MUTEX && k->shape == FOREIGNER)
        mutex.__data.__kind |= PTHREAD_MUTEX_RECURSIVE;
    at = in_ns(CLOCK_REALTIME, is_taken ? 30000LL * MS : -MS);
    if (k->object == COND && (k->shape == FOREIGNER || is_taken))
        other = start(waker, NULL);
    else if (is_taken)
        other = start(holder, (void *)k);
    while (other && k->object != COND && !holds)
        sleep_ms(1);
    in_thread(worker, (void *)k);
    if (other)
        pthread_join(other, NULL);
}
