#include <stddef.h>
typedef struct file FILE;
int printf(const char *, ...);
int sprintf(char *, const char *, ...);
int puts(const char *);
