/* What all C files of this folder share: which functions can be called from outside, and how they are compiled. */

#ifndef LOADER_NATIVE_EXPORTS_H
#define LOADER_NATIVE_EXPORTS_H

/* In front of a function that Python calls. All others are hidden (-fvisibility=hidden). */
#define NATIVE_EXPORT __attribute__((visibility("default")))

/* Code for AVX2 is compiled for x86-64 alone, and runs only where `native_has_avx2` says so. What other processors get
 * can be compiled here too, for tests. */
#if defined(__x86_64__) && !defined(NATIVE_OTHER_PROCESSOR)
#define NATIVE_X86 1
#define NATIVE_AVX2 __attribute__((target("avx2,bmi,bmi2")))
#else
#define NATIVE_X86 0
#define NATIVE_AVX2
#endif

#endif
