/* Shifts, wraps, conversions and a jump table; main ends without a value. */
extern void abort();
volatile unsigned seed = 12345;

static unsigned step(unsigned x, int k)
{
    switch (k) {
    case 0: return x << 7 | x >> 25;
    case 1: return x * 2654435761u;
    case 2: return (unsigned)((long long)(int)x * -3 >> 5);
    case 3: return x / 7 ^ x % 1000;
    case 4: return (unsigned)(double)(x & 0xffffff) + (unsigned short)x;
    case 5: return __builtin_popcount(x) - (signed char)x;
    default: return ~x;
    }
}

int main(void)
{
    unsigned sum = seed;
    int k;
    for (k = 0; k < 20; k++)
        sum = sum * 31 + step(sum, (sum ^ k) % 7);
    if (sum != 0xa9b3bd7bu)
        abort();
}
