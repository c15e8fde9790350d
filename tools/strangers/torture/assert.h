void abort(void);
#define assert(x) ((x) ? (void)0 : abort())
