/* What programs of Csmith include here instead of Csmith's own header: the same functions without an operating system.
   The wrappers of arithmetic (safe_math.h) are Csmith's, from the folder that -I names. */
#include <limits.h>
#include <stdint.h>
#define NULL ((void *)0)
#define STATIC static
#define UNDEFINED(value) (value)
#define LOG_INDEX
#define LOG_EXEC
#define FUNC_NAME(x) (safe_##x)
#define fabsf __builtin_fabsf
#define fabs __builtin_fabs
#define FLT_MAX __FLT_MAX__
#define DBL_MAX __DBL_MAX__
#ifdef COUNTED
/* Every checked sum of 32 bits is added to a counter that all threads share: the total does not depend on their order. */
static void counted(uint32_t value);
#undef LOG_EXEC
#define LOG_EXEC counted(1u);
#endif
#include "safe_math.h"
#define _CSMITH_BITFIELD(x) (((x) > 32) ? ((x) % 32) : (x))

static void crc32_gentab(void) {}
static void platform_main_begin(void) {}
static void platform_main_end(uint32_t crc, int flag) {}
static int strcmp(const char *a, const char *b) { return 1; }
#define printf(...) 0
#ifndef CHECKSUM
static uint64_t checksum;
#define CHECKSUM checksum
#endif
#define crc32_context 0u
#define transparent_crc(value, name, flag) (CHECKSUM = (CHECKSUM ^ (uint64_t)(value)) * 1099511628211u + 1u)
static void crc_bytes(uint64_t *sum, const char *p, int count)
{
    for (int k = 0; k < count; k++)
        *sum = (*sum ^ (uint64_t)(unsigned char)p[k]) * 1099511628211u + 1u;
}
#define transparent_crc_bytes(p, count, name, flag) crc_bytes(&CHECKSUM, (const char *)(p), count)
