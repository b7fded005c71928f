/* Opens a library whose constructor waits for a thread that calls FUNCTION, the first call of its kind in the process:
   while the loader runs constructors it has its lock, so a call that asks it for anything never returns. The arguments
   LIBRARY FUNCTION OBJECTS are for tests that set no variables. */
#include "check.h"
#include <dlfcn.h>

#ifdef __x86_64__
#define OLDEST_VERSION "GLIBC_2.2.5"
#else
#define OLDEST_VERSION "GLIBC_2.17"
#endif

static void *address_of(const char *name)
{
    void *address = dlsym(RTLD_DEFAULT, name);
    return address ? address : dlvsym(RTLD_DEFAULT, name, OLDEST_VERSION);
}

int main(int count, char **arguments)
{
    static const char *const names[] = {"LIBRARY", "FUNCTION", "OBJECTS"};
    char address[32];
    for (int i = 1; i < count; i++)
        CHECK_EQ(setenv(names[i - 1], arguments[i], 1), 0);
    void *function = address_of(getenv("FUNCTION"));
    CHECK(function != NULL);
    snprintf(address, sizeof address, "%p", function);
    CHECK_EQ(setenv("ADDRESS", address, 1), 0);
    alarm(30);
    if (!dlopen(getenv("LIBRARY"), RTLD_NOW)) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    return 0;
}
