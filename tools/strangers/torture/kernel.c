/* A program (PROGRAM, a name in quotes) and its kernel: MAIN is a call of the program's function `main`. */
#include PROGRAM
#include "words.h"
extern unsigned long long *torture_result;
void exit(int);
__attribute__((nvptx_kernel)) void torture_kernel(unsigned long long *out)
{
    torture_result = out;
    *out = RUNNING;
    exit(MAIN);
}
