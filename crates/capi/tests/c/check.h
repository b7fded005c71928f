/* What the test programs need. A failed check ends the program with status 1 and says where. */
#ifndef CHECK_H
#define CHECK_H
#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition);                                    \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

#define CHECK_RESULT(call, expected)                                                                                   \
    do {                                                                                                               \
        tw_result found_ = (call);                                                                                     \
        if (found_ != (expected)) {                                                                                    \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, tw_result_text(found_));                     \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

#define MS UINT64_C(1000000)
#define LONG_NS (30000 * MS)
#endif
