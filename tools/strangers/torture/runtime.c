/* What programs that check themselves need of a C library, for one thread of a kernel.
   `abort` and `exit` store a word where the kernel's parameter points and end the thread.  The front end takes from here the
   functions that a program does not define itself. */
#include <stddef.h>
#include "words.h"

unsigned long long *torture_result;

__attribute__((noreturn)) static void leave(unsigned long long word)
{
    *torture_result = word;
    __asm__ volatile("exit;");
    __builtin_unreachable();
}

void abort(void) { leave(ABORTED); }
void exit(int code) { leave(code ? FAILED : PASSED); }

void *memcpy(void *to, const void *from, size_t n)
{
    char *a = to;
    const char *b = from;
    while (n--)
        *a++ = *b++;
    return to;
}

void *memmove(void *to, const void *from, size_t n)
{
    char *a = to;
    const char *b = from;
    if (a <= b)
        return memcpy(to, from, n);
    while (n--)
        a[n] = b[n];
    return to;
}

void *mempcpy(void *to, const void *from, size_t n) { return (char *)memcpy(to, from, n) + n; }

void *memset(void *to, int c, size_t n)
{
    char *a = to;
    while (n--)
        *a++ = c;
    return to;
}

int memcmp(const void *one, const void *other, size_t n)
{
    const unsigned char *a = one, *b = other;
    for (; n--; a++, b++)
        if (*a != *b)
            return *a - *b;
    return 0;
}

void *memchr(const void *s, int c, size_t n)
{
    for (const unsigned char *p = s; n--; p++)
        if (*p == (unsigned char)c)
            return (void *)p;
    return 0;
}

size_t strlen(const char *s)
{
    const char *p = s;
    while (*p)
        p++;
    return p - s;
}

char *strcpy(char *to, const char *from) { return memcpy(to, from, strlen(from) + 1); }
char *stpcpy(char *to, const char *from) { return strcpy(to, from) + strlen(from); }

char *strncpy(char *to, const char *from, size_t n)
{
    size_t k = 0;
    for (; k < n && from[k]; k++)
        to[k] = from[k];
    memset(to + k, 0, n - k);
    return to;
}

char *strcat(char *to, const char *from)
{
    strcpy(to + strlen(to), from);
    return to;
}

char *strncat(char *to, const char *from, size_t n)
{
    char *a = to + strlen(to);
    while (n-- && *from)
        *a++ = *from++;
    *a = 0;
    return to;
}

int strncmp(const char *a, const char *b, size_t n)
{
    for (; n && *a && *a == *b; n--)
        a++, b++;
    return n ? *(const unsigned char *)a - *(const unsigned char *)b : 0;
}

int strcmp(const char *a, const char *b) { return strncmp(a, b, (size_t)-1); }

char *strrchr(const char *s, int c)
{
    const char *found = 0;
    for (;; s++) {
        if (*s == (char)c)
            found = s;
        if (!*s)
            return (char *)found;
    }
}

char *strchr(const char *s, int c)
{
    while (*s != (char)c)
        if (!*s++)
            return 0;
    return (char *)s;
}

char *strstr(const char *s, const char *part)
{
    size_t n = strlen(part);
    for (; strncmp(s, part, n); s++)
        if (!*s)
            return 0;
    return (char *)s;
}

size_t strspn(const char *s, const char *set)
{
    size_t n = 0;
    while (s[n] && strchr(set, s[n]))
        n++;
    return n;
}

size_t strcspn(const char *s, const char *set)
{
    size_t n = 0;
    while (s[n] && !strchr(set, s[n]))
        n++;
    return n;
}

char *strpbrk(const char *s, const char *set)
{
    s += strcspn(s, set);
    return *s ? (char *)s : 0;
}

static char heap[HEAP] __attribute__((aligned(16)));
static size_t used;

void *malloc(size_t n)
{
    if (n > HEAP - used)
        return 0;
    void *p = heap + used;
    used += (n + 15) & ~(size_t)15;
    return p;
}

void *calloc(size_t n, size_t m) { return malloc(n * m); }
void free(void *p) { (void)p; }

void *realloc(void *old, size_t n)
{
    char *p = malloc(n);
    if (p && old)
        for (size_t k = 0; k < n && (char *)old + k < p; k++)
            p[k] = ((char *)old)[k];
    return p;
}

int abs(int x) { return x < 0 ? -x : x; }
long labs(long x) { return x < 0 ? -x : x; }
double fabs(double x) { return __builtin_fabs(x); }
double sqrt(double x) { return __builtin_sqrt(x); }
double floor(double x) { return __builtin_floor(x); }
double copysign(double x, double y) { return __builtin_copysign(x, y); }
int putchar(int c) { return c; }
