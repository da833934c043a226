// What lies on the stack where nothing has been written yet, as a caller wants it.
#include <string.h>

#include "memcov.h"

extern "C" int memcov_soil_stack(unsigned char byte) {
    unsigned char soil[1 << 18];
    memset(soil, byte, sizeof soil);
    // Without this the compiler would see that nobody reads it.
    asm volatile("" : : "r"(soil) : "memory");
    return 0;
}
