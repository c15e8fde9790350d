/* Arguments of a variable number, structures by value, recursion; a function of the C library that the program defines itself. */
#include <stdarg.h>
void abort(void);
struct pair { char low; double high; };
static int calls;
int abs(int);
int (*volatile magnitude)(int) = abs;

int abs(int x)
{
    calls++;
    return x < 0 ? 2 * -x : x;
}

static struct pair add(struct pair a, struct pair b)
{
    a.low += b.low;
    a.high *= b.high;
    return a;
}

static double all(int count, ...)
{
    struct pair sum = {0, 1.0};
    va_list list;
    va_start(list, count);
    for (; count > 0; count--) {
        struct pair p = {va_arg(list, int), va_arg(list, double)};
        sum = add(sum, p);
    }
    va_end(list);
    return sum.low + sum.high;
}

static unsigned depth(unsigned n, volatile int *place)
{
    volatile int mine = *place + 1;
    return n == 0 ? (unsigned)mine : depth(n - 1, &mine) + (n & 1);
}

int main(void)
{
    volatile int zero = 0, minus = -7;
    if (all(3, 100, 0.5, 50, 8.0, 1, 0.25) != 1.0 - 105 || depth(9, &zero) != 15)
        abort();
    return magnitude(minus) == 14 && calls == 1 ? 0 : 2;
}
