/* Says what this library was made of, and what the processor that runs it can do. */

#include "exports.h"

#ifndef NATIVE_SOURCES_KEY
#error "compile this folder with its build.py, which says what it is made of"
#endif

/* A checksum of all C files here: a library that is older than its sources is not used. */
NATIVE_EXPORT unsigned native_sources_key(void) { return NATIVE_SOURCES_KEY; }

/* 1 where the processor and the system have AVX2 and BMI2, which came together; else 0. */
NATIVE_EXPORT int native_has_avx2(void) {
#if NATIVE_X86
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
#else
    return 0;
#endif
}
