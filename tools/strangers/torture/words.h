/* What a program that checks itself leaves: the kernel has not ended, `exit(0)`, `exit` with another code, `abort`. */
#define RUNNING 0x111
#define PASSED 0x600d
#define FAILED 0xbad1
#define ABORTED 0xbad
#define HEAP 65536
