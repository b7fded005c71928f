/* The library that Rust's std asks for random numbers on Windows, for Wine 8, which does not have it. */
#include <stddef.h>

/* The same by its older name, of advapi32. */
unsigned char __stdcall SystemFunction036(void *data, unsigned long length);

__declspec(dllexport) int __stdcall ProcessPrng(unsigned char *data, size_t length) {
    return SystemFunction036(data, (unsigned long)length);
}
