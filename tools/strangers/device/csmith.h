/* What programs of Csmith include here instead of Csmith's own header: the same functions without an operating system.
   The wrappers of arithmetic (safe_math.h) are Csmith's, from the folder that -I names. */
#include <limits.h>
#include <stdint.h>
#undef NULL
#ifdef __cplusplus
#define NULL nullptr
#else
#define NULL ((void *)0)
#endif
#if defined(DEVICE) && defined(__CUDACC__)
#define DEV __device__
#else
#define DEV
#endif
#define STATIC static DEV
#define UNDEFINED(value) (value)
#define LOG_INDEX
#define LOG_EXEC
#define FUNC_NAME(x) (safe_##x)
#define fabsf __builtin_fabsf
#define fabs __builtin_fabs
#define FLT_MAX __FLT_MAX__
#define DBL_MAX __DBL_MAX__
#include "safe_math.h"
#define _CSMITH_BITFIELD(x) (((x) > 32) ? ((x) % 32) : (x))

#define crc32_gentab()
#define platform_main_begin()
#define platform_main_end(crc, flag)
#define strcmp(a, b) 1
#define printf(...) 0
#ifndef CHECKSUM
static DEV uint64_t checksum;
#define CHECKSUM checksum
#endif
#define crc32_context 0u
#define transparent_crc(value, name, flag) (CHECKSUM = (CHECKSUM ^ (uint64_t)(value)) * 1099511628211u + 1u)
static DEV void crc_bytes(uint64_t *sum, const char *p, int count)
{
    for (int k = 0; k < count; k++)
        *sum = (*sum ^ (uint64_t)(unsigned char)p[k]) * 1099511628211u + 1u;
}
#define transparent_crc_bytes(p, count, name, flag) crc_bytes(&CHECKSUM, (const char *)(p), count)
