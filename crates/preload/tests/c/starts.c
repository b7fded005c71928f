/* Starts TARGET by FUNCTION; without arguments it is the target itself, and prints what it was given. */
#include "check.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

static void say(const char *variable)
{
    const char *value = getenv(variable);
    printf("%s ", value ? value : "-");
}

static int go_on_as(const char *function, const char *target)
{
    char *const arguments[] = {(char *)target, NULL};
    if (!strcmp(function, "execve"))
        return execve(target, arguments, environ);
    if (!strcmp(function, "execv"))
        return execv(target, arguments);
    if (!strcmp(function, "execvp"))
        return execvp(strrchr(target, '/') + 1, arguments);
    if (!strcmp(function, "execvpe"))
        return execvpe(target, arguments, environ);
    if (!strcmp(function, "execl"))
        return execl(target, target, NULL);
    if (!strcmp(function, "execlp"))
        return execlp(strrchr(target, '/') + 1, target, NULL);
    if (!strcmp(function, "execle"))
        return execle(target, target, NULL, environ);
    int (*at)(int, const char *, char *const *, char *const *, int) = dlsym(RTLD_DEFAULT, "execveat");
    if (!strcmp(function, "execveat") && at)
        return at(AT_FDCWD, target, arguments, environ, 0);
    return fexecve(open(target, O_RDONLY | O_CLOEXEC), arguments, environ);
}

static void await(pid_t child)
{
    int status;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 7 << 8);
}

int main(int count, char **arguments)
{
    if (count < 3) {
        say("LD_PRELOAD");
        say("TURNWISE_LOCK");
        fflush(stdout);
        return 7;
    }
    const char *function = arguments[1], *target = arguments[2];
    char *const words[] = {(char *)target, NULL};
    pid_t child;
    CHECK(setenv("PATH", arguments[3], 1) == 0);
    if (!strcmp(function, "posix_spawn")) {
        CHECK_EQ(posix_spawn(&child, target, NULL, NULL, words, environ), 0);
        await(child);
    } else if (!strcmp(function, "posix_spawnp")) {
        CHECK_EQ(posix_spawnp(&child, strrchr(target, '/') + 1, NULL, NULL, words, environ), 0);
        await(child);
    } else if (!strcmp(function, "errors")) {
        errno = 0;
        CHECK_EQ(execl("/turnwise/no/such/program", "x", NULL), -1);
        CHECK_EQ(errno, ENOENT);
        CHECK_EQ(execv("/", words), -1);
        CHECK_EQ(errno, EACCES);
        CHECK_EQ(posix_spawnp(&child, "turnwise-no-such-program", NULL, NULL, words, environ), ENOENT);
        errno = EXDEV;
        CHECK_EQ(posix_spawn(&child, target, NULL, NULL, words, environ), 0);
        CHECK_EQ(errno, EXDEV);
        await(child);
    } else {
        child = vfork();
        if (child == 0) {
            go_on_as(function, target);
            _exit(9);
        }
        await(child);
    }
    return 0;
}
