/*
 * A conformance program is a list of sentences. A sentence says in our words what the standard requires, and has a
 * function that does it and answers. `main` asks each sentence of each variant of its subject, and prints one line
 * `name(variant): answer`; an answer that is not the wanted one ends the program with status 1.
 *
 * The same program runs on the C library and on the locks under test, and must print the same lines.
 */
#ifndef CONFORMANCE_H
#define CONFORMANCE_H
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Answers beside errno values. SKIP: the standard says nothing for this variant. OPEN, wanted only: the standard leaves
   the answer open, and what the C library answers is the measure. */
enum { YES = -1, NO = -2, SKIP = -3, OPEN = -4 };
enum { MS = 1000000, SECOND = 1000000000, SOON = 8 * MS, LIMIT_S = 30 };

struct sentence {
    const char *name, *says;
    int (*ask)(int variant);
    int (*wanted)(int variant);
};

/* All sentences of the program, in a section of their own: a sentence is written once, and asked. */
extern const struct sentence *const __start_sentences[], *const __stop_sentences[];

/* A sentence whose wanted answer is an expression, which may look at `variant`. */
#define SENTENCE(NAME, WANTED, SAYS)                                                                                   \
    static int NAME(int variant);                                                                                      \
    static int wanted_##NAME(int variant)                                                                              \
    {                                                                                                                  \
        (void)variant;                                                                                                 \
        return WANTED;                                                                                                 \
    }                                                                                                                  \
    static const struct sentence sentence_##NAME = {#NAME, SAYS, NAME, wanted_##NAME};                                 \
    __attribute__((used, section("sentences"))) static const struct sentence *const at_##NAME = &sentence_##NAME;      \
    static int NAME(int variant __attribute__((unused)))

/* What cannot go wrong unless the program or the machine is at fault; never an answer. */
#define MUST(condition)                                                                                                \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition);                                    \
            _exit(1);                                                                                                  \
        }                                                                                                              \
    } while (0)

/* Ends the sentence with the first answer that is not 0. */
#define STEP(call)                                                                                                     \
    do {                                                                                                               \
        int step_ = (call);                                                                                            \
        if (step_ != 0)                                                                                                \
            return step_;                                                                                              \
    } while (0)

static const char *current_sentence = "none";

static void too_long(int signal)
{
    (void)signal;
    static const char text[] = "hangs: ";
    (void)!write(STDERR_FILENO, text, sizeof text - 1);
    (void)!write(STDERR_FILENO, current_sentence, strlen(current_sentence));
    (void)!write(STDERR_FILENO, "\n", 1);
    _exit(1);
}

static inline const char *answer_name(int answer)
{
    static char number[16];
    if (answer == YES || answer == NO)
        return answer == YES ? "yes" : "no";
    const char *name = answer > 0 ? strerrorname_np(answer) : NULL;
    snprintf(number, sizeof number, "%d", answer);
    return name ? name : number;
}

/* Asks everything; the number of wrong answers. */
static inline int ask_all(const char *const *variants, int count)
{
    int wrong = 0;
    signal(SIGALRM, too_long);
    for (const struct sentence *const *s = __start_sentences; s != __stop_sentences; s++) {
        current_sentence = (*s)->name;
        for (int variant = 0; variant < count; variant++) {
            alarm(LIMIT_S);
            int wanted = (*s)->wanted(variant);
            if (wanted == SKIP)
                continue;
            int answer = (*s)->ask(variant);
            printf("%s(%s): %s\n", (*s)->name, variants[variant], answer_name(answer));
            if (wanted != OPEN && answer != wanted) {
                fprintf(stderr, "%s(%s): %s", (*s)->name, variants[variant], answer_name(answer));
                fprintf(stderr, ", wanted %s: %s\n", answer_name(wanted), (*s)->says);
                wrong++;
            }
        }
    }
    return wrong;
}

/* Sentences about no variant in particular are asked for variant 0 only. */
#define ONCE(wanted) (variant == 0 ? (wanted) : SKIP)

/* `ns` from now on `clock`. */
static inline struct timespec in_ns(clockid_t clock, long long ns)
{
    struct timespec t;
    clock_gettime(clock, &t);
    ns += t.tv_nsec;
    t.tv_sec += ns / SECOND;
    t.tv_nsec = ns % SECOND;
    if (t.tv_nsec < 0) {
        t.tv_nsec += SECOND;
        t.tv_sec--;
    }
    return t;
}

static inline long long now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * (long long)SECOND + t.tv_nsec;
}

static inline void sleep_ns(long ns)
{
    struct timespec t = {.tv_nsec = ns};
    while (nanosleep(&t, &t) != 0) {
    }
}

/* One call in a thread of its own. */
struct call {
    int (*function)(void *);
    void *argument;
    int answer, done;
    pid_t tid; /* 0: not begun */
    pthread_t thread;
};

static inline void *run_call(void *argument)
{
    struct call *c = argument;
    __atomic_store_n(&c->tid, gettid(), __ATOMIC_SEQ_CST);
    c->answer = c->function(c->argument);
    __atomic_store_n(&c->done, 1, __ATOMIC_SEQ_CST);
    return NULL;
}

static inline void begin(struct call *c, int (*function)(void *), void *argument)
{
    *c = (struct call){.function = function, .argument = argument};
    MUST(pthread_create(&c->thread, NULL, run_call, c) == 0);
    while (__atomic_load_n(&c->tid, __ATOMIC_SEQ_CST) == 0)
        sched_yield();
}

static inline int end(struct call *c)
{
    MUST(pthread_join(c->thread, NULL) == 0);
    return c->answer;
}

static inline int is_done(struct call *c)
{
    return __atomic_load_n(&c->done, __ATOMIC_SEQ_CST);
}

/* Waits until the call's thread sleeps in the kernel, as it does in every wait that is not a spin lock's. On a machine
   with much else to do that may take long. */
static inline int falls_asleep(struct call *c)
{
    char path[64], text[256] = "", *end;
    long long begun = now_ns();
    while (!is_done(c) && now_ns() - begun < LIMIT_S / 2 * (long long)SECOND) {
        snprintf(path, sizeof path, "/proc/self/task/%d/stat", c->tid);
        FILE *file = fopen(path, "r");
        MUST(file != NULL);
        size_t length = fread(text, 1, sizeof text - 1, file);
        fclose(file);
        text[length] = 0;
        end = strrchr(text, ')'); /* after the program's name comes the state */
        if (end && end[1] == ' ' && end[2] == 'S')
            return 1;
        sleep_ns(MS);
    }
    return 0;
}

/* The answer of a call that another thread makes. */
static inline int elsewhere(int (*function)(void *), void *argument)
{
    struct call c;
    begin(&c, function, argument);
    return end(&c);
}

/* Whether the call still waits after a while. It is under way afterwards. */
static inline int waits(struct call *c, int (*function)(void *), void *argument)
{
    begin(c, function, argument);
    sleep_ns(SOON);
    return !is_done(c);
}

/* The exit status of a child that makes the call. */
static inline int in_child(int (*function)(void *), void *argument)
{
    int status;
    fflush(stdout);
    pid_t pid = fork();
    MUST(pid >= 0);
    if (pid == 0) {
        alarm(LIMIT_S);
        _exit(function(argument));
    }
    MUST(waitpid(pid, &status, 0) == pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : SKIP;
}

/* Memory that children share. */
static inline void *shared_page(void)
{
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    MUST(page != MAP_FAILED);
    return page;
}

static inline int yes_if(int condition)
{
    return condition ? YES : NO;
}
#endif
