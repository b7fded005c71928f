/* Loads each plug-in of its arguments, lets its threads have their lock so often (the first argument), and unloads it:
   the next lands where it was. Then says so, and goes on until its input ends. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int count, char **words)
{
    char end;
    for (int i = 2; i < count; i++) {
        void *plugin = dlopen(words[i], RTLD_NOW | RTLD_LOCAL);
        if (!plugin)
            return puts(dlerror()), 3;
        int (*serve)(int) = (int (*)(int))dlsym(plugin, "serve");
        if (!serve(atoi(words[1])) || dlclose(plugin))
            return 4;
    }
    puts("done");
    fflush(stdout);
    return read(0, &end, 1) < 0;
}
