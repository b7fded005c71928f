/* Stands before libgcc's functions of these names, as libunwind does in programs that load it: the recorder, whose
 * locks they would take, must not call them. */
#include <stdlib.h>

int _Unwind_Backtrace(void *each, void *argument) {
    (void)each;
    (void)argument;
    abort();
}

unsigned long _Unwind_GetIP(void *context) {
    (void)context;
    abort();
}
