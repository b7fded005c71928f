/*
 * The functions that start programs. A program for another processor, or with another C library's loader, cannot load a
 * library of ours: its loader would complain on standard error, or end it. So it gets the environment that it would
 * have without us: its LD_PRELOAD without our entries, and none of our variables. All others get what the caller gave.
 *
 * These functions run in children of vfork, in signal handlers and beside threads that hold any lock: nothing here
 * allocates, waits or keeps anything. Whoever cannot be judged (a file that may not be read, say) is left as it is.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define OUR_LIBRARIES "libturnwise_"
#define OUR_VARIABLES "TURNWISE_"
#define PRELOAD "LD_PRELOAD="

#ifdef __x86_64__
#define MACHINE EM_X86_64
#define LOADER "ld-linux-x86-64.so.2"
#else
#define MACHINE EM_AARCH64
#define LOADER "ld-linux-aarch64.so.1"
#endif

enum {
    LEVELS = 5,         /* of scripts whose interpreters are scripts: the kernel follows no more */
    LINE = 256,         /* of a script's first line, the kernel reads so much */
    NAME = 1024,        /* bytes of a path that is looked for */
    HEADERS = 64,       /* of a program, looked at */
    VARIABLES = 1 << 14 /* in an environment, at most; and bytes of one that is rewritten */
};

typedef char *const *words;
typedef int path_fn(const char *, words, words);
typedef int plain_fn(const char *, words);
typedef int descriptor_fn(int, words, words);
typedef int at_fn(int, const char *, words, words, int);
typedef posix_spawn_file_actions_t actions_t;
typedef int spawn_fn(pid_t *, const char *, const actions_t *, const posix_spawnattr_t *, words, words);

/* The next library's functions. */
enum { EXECVE, EXECV, EXECVP, EXECVPE, FEXECVE, EXECVEAT, SPAWN, SPAWNP, FUNCTIONS };
static const char *const names[FUNCTIONS] = {"execve",  "execv",    "execvp",      "execvpe",
                                             "fexecve", "execveat", "posix_spawn", "posix_spawnp"};
static void *functions[FUNCTIONS];

static void *next(int number)
{
    void *found = __atomic_load_n(&functions[number], __ATOMIC_RELAXED);
    if (!found) {
        found = dlsym(RTLD_NEXT, names[number]);
        __atomic_store_n(&functions[number], found, __ATOMIC_RELAXED);
    }
    return found;
}

/* For the constructor: no later call asks the loader. */
void turnwise_exec_look_up(void)
{
    for (int number = 0; number < FUNCTIONS; number++)
        next(number);
}

static int starts(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The end of an entry of LD_PRELOAD. */
static const char *end_of(const char *entry)
{
    return entry + strcspn(entry, ": ");
}

static int is_ours(const char *entry)
{
    const char *end = end_of(entry), *name = entry;
    for (const char *at = entry; at < end; at++)
        if (*at == '/')
            name = at + 1;
    return starts(name, OUR_LIBRARIES);
}

/* Whether an environment loads a library of ours, and can be rewritten. */
static int has_us(words environment)
{
    int ours = 0;
    size_t count = 0;
    for (; environment && environment[count]; count++) {
        const char *entry = environment[count];
        if (!starts(entry, PRELOAD) || strlen(entry) >= VARIABLES)
            continue;
        entry += strlen(PRELOAD);
        for (; !ours && *entry; entry += strspn(entry, ": ")) {
            ours = is_ours(entry);
            entry = end_of(entry);
        }
    }
    return ours && count < VARIABLES;
}

/* Whether a program's loader is not ours. One without any is not touched by LD_PRELOAD. */
static int has_other_loader(int file, const Elf64_Ehdr *head)
{
    char loader[LINE];
    for (int i = 0; i < head->e_phnum && i < HEADERS; i++) {
        Elf64_Phdr part;
        off_t at = (off_t)head->e_phoff + (off_t)i * head->e_phentsize;
        if (syscall(SYS_pread64, file, &part, sizeof part, at) != sizeof part)
            return 0;
        if (part.p_type == PT_INTERP && part.p_filesz > 0 && part.p_filesz < sizeof loader) {
            long length = syscall(SYS_pread64, file, loader, (size_t)part.p_filesz, (off_t)part.p_offset);
            loader[length > 0 ? length : 0] = 0;
            return length > 0 && strcmp(file_name(loader), LOADER) != 0;
        }
    }
    return 0;
}

static int is_other_program(int file, const unsigned char *start, long length)
{
    Elf64_Ehdr head;
    if (length < EI_NIDENT || memcmp(start, ELFMAG, SELFMAG) != 0)
        return 0;
    if (start[EI_CLASS] != ELFCLASS64 || start[EI_DATA] != ELFDATA2LSB)
        return 1;
    if (length < (long)sizeof head)
        return 0;
    memcpy(&head, start, sizeof head);
    return head.e_machine != MACHINE || has_other_loader(file, &head);
}

/* Cuts the interpreter out of a script's first line; null: there is none. */
static const char *interpreter(char *start, long length)
{
    if (length < 2 || start[0] != '#' || start[1] != '!')
        return NULL;
    start[length < LINE ? length : LINE - 1] = 0;
    char *name = start + 2 + strspn(start + 2, " \t");
    name[strcspn(name, " \t\r\n")] = 0;
    return *name ? name : NULL;
}

static int is_other_file(int file, int levels);

/* Whether a file is a program that no library of ours can be loaded into, or a script of such a one. */
static int is_other(int folder, const char *path, int levels)
{
    /* No cancellation point, and whatever the name is: nothing waits. */
    int file = (int)syscall(SYS_openat, folder, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
    int other = file >= 0 && is_other_file(file, levels);
    if (file >= 0)
        syscall(SYS_close, file);
    return other;
}

static int is_other_file(int file, int levels)
{
    char start[LINE];
    struct stat found;
    if (syscall(SYS_fstat, file, &found) != 0 || !S_ISREG(found.st_mode))
        return 0;
    long length = syscall(SYS_pread64, file, start, sizeof start, (off_t)0);
    if (is_other_program(file, (const unsigned char *)start, length))
        return 1;
    const char *name = interpreter(start, length);
    return name && levels > 1 && is_other(AT_FDCWD, name, levels - 1);
}

/* As is_other, for a name that is looked for in PATH. */
static int is_other_in_path(const char *name)
{
    char path[NAME];
    const char *folders = getenv("PATH");
    if (strchr(name, '/') || !*name)
        return is_other(AT_FDCWD, name, LEVELS);
    for (folders = folders ? folders : "/bin:/usr/bin";; folders++) {
        size_t length = strcspn(folders, ":"), rest = strlen(name) + 1;
        if (length + 1 + rest <= sizeof path) {
            memcpy(path, folders, length);
            path[length] = '/';
            memcpy(path + length + (length > 0), name, rest);
            if (syscall(SYS_faccessat, AT_FDCWD, path, X_OK) == 0)
                return is_other(AT_FDCWD, path, LEVELS);
        }
        folders += length;
        if (!*folders)
            return 0;
    }
}

/* Bytes for the rewritten LD_PRELOAD, and words for the environment. */
static size_t room_for_text(words environment)
{
    size_t most = 1;
    for (; environment && *environment; environment++)
        if (starts(*environment, PRELOAD) && strlen(*environment) + 1 > most)
            most = strlen(*environment) + 1;
    return most;
}

static size_t room_for_words(words environment)
{
    size_t count = 1;
    for (; environment && *environment; environment++)
        count++;
    return count;
}

/* Writes the environment that the caller would have given without us. */
static words without_us(words environment, char **to, char *text)
{
    char **all = to;
    for (; *environment; environment++) {
        if (starts(*environment, OUR_VARIABLES))
            continue;
        *to = *environment;
        if (starts(*environment, PRELOAD)) {
            const char *entry = *environment + strlen(PRELOAD);
            char *end = stpcpy(text, PRELOAD), *first = end;
            for (; *entry; entry = end_of(entry), entry += strspn(entry, ": ")) {
                if (is_ours(entry))
                    continue;
                if (end != first)
                    *end++ = ':';
                end = mempcpy(end, entry, (size_t)(end_of(entry) - entry));
            }
            *end = 0;
            if (end == first)
                continue;
            *to = text;
        }
        to++;
    }
    *to = NULL;
    return all;
}

/* Whether `other` holds of what is to be started with an environment of ours; errno stays. */
#define MUST_GO(environment, other) \
    ({ int errno_before = errno, must_go = has_us(environment) && (other); errno = errno_before; must_go; })

/* Declares `theirs`, the environment without us. */
#define WITHOUT_US(environment) \
    char *to[room_for_words(environment)], text[room_for_text(environment)]; \
    words theirs = without_us(environment, to, text)

int turnwise_execve(const char *path, words arguments, words environment)
{
    path_fn *function = next(EXECVE);
    if (!MUST_GO(environment, path && is_other(AT_FDCWD, path, LEVELS)))
        return function(path, arguments, environment);
    WITHOUT_US(environment);
    return function(path, arguments, theirs);
}

int turnwise_execv(const char *path, words arguments)
{
    plain_fn *function = next(EXECV);
    if (!MUST_GO(environ, path && is_other(AT_FDCWD, path, LEVELS)))
        return function(path, arguments);
    WITHOUT_US(environ);
    return ((path_fn *)next(EXECVE))(path, arguments, theirs);
}

int turnwise_execvpe(const char *name, words arguments, words environment)
{
    path_fn *function = next(EXECVPE);
    if (!MUST_GO(environment, name && is_other_in_path(name)))
        return function(name, arguments, environment);
    WITHOUT_US(environment);
    return function(name, arguments, theirs);
}

int turnwise_execvp(const char *name, words arguments)
{
    plain_fn *function = next(EXECVP);
    if (!MUST_GO(environ, name && is_other_in_path(name)))
        return function(name, arguments);
    WITHOUT_US(environ);
    return ((path_fn *)next(EXECVPE))(name, arguments, theirs);
}

int turnwise_fexecve(int file, words arguments, words environment)
{
    descriptor_fn *function = next(FEXECVE);
    if (!MUST_GO(environment, is_other_file(file, LEVELS)))
        return function(file, arguments, environment);
    WITHOUT_US(environment);
    return function(file, arguments, theirs);
}

int turnwise_execveat(int folder, const char *path, words arguments, words environment, int flags)
{
    at_fn *function = next(EXECVEAT);
    if (!function) {
        errno = ENOSYS;
        return -1;
    }
    int is_file = path && !*path && flags & AT_EMPTY_PATH;
    if (!MUST_GO(environment, is_file ? is_other_file(folder, LEVELS) : path && is_other(folder, path, LEVELS)))
        return function(folder, path, arguments, environment, flags);
    WITHOUT_US(environment);
    return function(folder, path, arguments, theirs, flags);
}

int turnwise_posix_spawn(pid_t *child, const char *path, const actions_t *actions,
                         const posix_spawnattr_t *attributes, words arguments, words environment)
{
    spawn_fn *function = next(SPAWN);
    if (!MUST_GO(environment, path && is_other(AT_FDCWD, path, LEVELS)))
        return function(child, path, actions, attributes, arguments, environment);
    WITHOUT_US(environment);
    return function(child, path, actions, attributes, arguments, theirs);
}

int turnwise_posix_spawnp(pid_t *child, const char *name, const actions_t *actions,
                          const posix_spawnattr_t *attributes, words arguments, words environment)
{
    spawn_fn *function = next(SPAWNP);
    if (!MUST_GO(environment, name && is_other_in_path(name)))
        return function(child, name, actions, attributes, arguments, environment);
    WITHOUT_US(environment);
    return function(child, name, actions, attributes, arguments, theirs);
}

/* Counts the arguments from `first` to the null that ends them. */
static size_t count_of(const char *first, va_list list)
{
    size_t count = 1;
    if (first)
        while (va_arg(list, const char *))
            count++;
    return count;
}

/* Declares `arguments`, those of a function whose last named one is `first`. */
#define ARGUMENTS(first) \
    va_list list, again; \
    va_start(list, first); \
    va_copy(again, list); \
    size_t count = count_of(first, again); \
    va_end(again); \
    char *arguments[count + 1]; \
    arguments[0] = (char *)first; \
    for (size_t i = 1; i <= count && arguments[i - 1]; i++) \
        arguments[i] = va_arg(list, char *)

int turnwise_execl(const char *path, const char *first, ...)
{
    ARGUMENTS(first);
    va_end(list);
    return turnwise_execv(path, arguments);
}

int turnwise_execlp(const char *name, const char *first, ...)
{
    ARGUMENTS(first);
    va_end(list);
    return turnwise_execvp(name, arguments);
}

int turnwise_execle(const char *path, const char *first, ...)
{
    ARGUMENTS(first);
    words environment = va_arg(list, words);
    va_end(list);
    return turnwise_execve(path, arguments, environment);
}
