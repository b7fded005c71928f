/* A forked child is its parent's thread: it releases what that thread had, also recursive and error-checking ones.
   (glibc refuses: its owner is a thread id, which the child does not share. Run with the library only.) */
#include "check.h"
#include <sys/wait.h>

int main(void)
{
    pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
    pthread_mutex_t strict = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
    pthread_mutex_lock(&recursive);
    pthread_mutex_lock(&recursive);
    pthread_mutex_lock(&strict);
    pid_t pid = fork();
    if (pid == 0) {
        CHECK_EQ(pthread_mutex_unlock(&recursive), 0);
        CHECK_EQ(pthread_mutex_unlock(&recursive), 0);
        CHECK_EQ(pthread_mutex_unlock(&recursive), EPERM);
        CHECK_EQ(pthread_mutex_lock(&strict), EDEADLK);
        CHECK_EQ(pthread_mutex_unlock(&strict), 0);
        _exit(0);
    }
    int status;
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return 0;
}
