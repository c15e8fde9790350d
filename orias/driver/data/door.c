// The driver library: each exported function hands its arguments as numbers to a callback in Python.
// The stubs (one for each line of functions.txt) follow this file; orias/driver/library.py writes them.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { INTERRUPTED = -1, NOT_BEGUN = -3, INVALID_VALUE = 1, DEINITIALIZED = 4, NOT_SUPPORTED = 801, UNKNOWN = 999 };

typedef struct {
    char bytes[64];
} Handle;
typedef void (*Callback)(int index, const int64_t *values, int *result);
static volatile Callback callback;
static int (*is_initialized)(void);
static pthread_once_t once = PTHREAD_ONCE_INIT;

// The functions of Python that every call may need; find_interpreter fills them, all or none (`complete`).
static struct {
    int complete;
    int (*ensure)(void);
    void (*release)(int);
    int (*run)(const char *);
    unsigned long (*thread)(void);
    int (*raise)(unsigned long, void *);
    void *(*occurred)(void);
    int (*check_signals)(void);
    void (*fetch)(void **, void **, void **);
    void (*restore)(void *, void *, void *);
} python;

// Finds the interpreter of this process, or starts one where there is none.
static void find_interpreter(void) {
    is_initialized = (int (*)(void))dlsym(RTLD_DEFAULT, "Py_IsInitialized");
    if (!is_initialized) {
        const char *path = getenv("ORIAS_LIBPYTHON");
        if (!path || !dlopen(path, RTLD_NOW | RTLD_GLOBAL)) {
            fprintf(stderr, "orias: no Python library for the driver (ORIAS_LIBPYTHON=%s)\n", path ? path : "");
            return;
        }
        is_initialized = (int (*)(void))dlsym(RTLD_DEFAULT, "Py_IsInitialized");
    }
    if (is_initialized && !is_initialized()) {
        void (*start)(int) = (void (*)(int))dlsym(RTLD_DEFAULT, "Py_InitializeEx");
        void *(*save)(void) = (void *(*)(void))dlsym(RTLD_DEFAULT, "PyEval_SaveThread");
        if (start && save) {
            start(0);
            save();
        }
    }
    const struct {
        const char *name;
        void *place;
    } wanted[] = {
        {"PyGILState_Ensure", &python.ensure},         {"PyGILState_Release", &python.release},
        {"PyRun_SimpleString", &python.run},           {"PyThread_get_thread_ident", &python.thread},
        {"PyThreadState_SetAsyncExc", &python.raise},  {"PyErr_Occurred", &python.occurred},
        {"PyErr_CheckSignals", &python.check_signals}, {"PyErr_Fetch", &python.fetch},
        {"PyErr_Restore", &python.restore},
    };
    python.complete = 1;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        void *found = dlsym(RTLD_DEFAULT, wanted[i].name);
        memcpy(wanted[i].place, &found, sizeof found);
        python.complete &= found != 0;
    }
}

#define EXPORT __attribute__((visibility("default")))

EXPORT int orias_exit_code;

// The end of the process: what tools report, and their exit code.
static void end(void) {
    if (callback && is_initialized())
        callback(-1, 0, &(int){0});
    if (orias_exit_code) {
        fflush(0);
        _exit(orias_exit_code);
    }
}

static void attach(void) {
    Dl_info self;
    if (!dladdr((void *)attach, &self))
        return;
    char text[8192];
    snprintf(text, sizeof text,
             "def _orias_attach():\n"
             "    import os, sys\n"
             "    more = [p for p in os.environ.get('ORIAS_DRIVER_PATH', '').split(':') if p and p not in sys.path]\n"
             "    sys.path.extend(more)\n"
             "    try:\n"
             "        from orias.driver.attach import connect\n"
             "    finally:\n"
             "        for p in more:\n"
             "            sys.path.remove(p)\n"
             "    connect(%llu, %s'%s')\n"
             "_orias_attach()\n"
             "del _orias_attach\n",
             (unsigned long long)(uintptr_t)&callback, "r", self.dli_fname);
    int state = python.ensure();
    static int tried;
    if (!callback && !tried) {
        tried = 1;
        atexit(end);
        python.run(text);
    }
    python.release(state);
}

// What functions do once the interpreter has ended and destructors of the program's objects still run: those that give
// something back, wait or choose a context succeed, because all of it goes with the process (library.py writes the table).
enum { FAILS, SUCCEEDS, NAMES_RESULT, DESCRIBES_RESULT, GIVES_POOL, UNINITIALIZED };
extern const unsigned char at_end[];

EXPORT uint64_t orias_pool; // The device's default pool.

static int call_at_end(int index, const int64_t *values) {
    const char *text = at_end[index] == NAMES_RESULT ? "CUDA_ERROR_DEINITIALIZED" : "driver shutting down";
    switch (at_end[index]) {
    case SUCCEEDS:
        return 0;
    case NAMES_RESULT:
    case DESCRIBES_RESULT:
        // The only result of a function at this time.
        *(const char **)values[1] = values[0] == DEINITIALIZED ? text : 0;
        return values[0] == DEINITIALIZED ? 0 : INVALID_VALUE;
    case GIVES_POOL:
        if (!values[0])
            return INVALID_VALUE;
        *(uint64_t *)values[0] = orias_pool;
        return 0;
    case UNINITIALIZED:
        return 1; // NVML_ERROR_UNINITIALIZED
    }
    return DEINITIALIZED;
}

EXPORT void *orias_interruption;

static _Thread_local void *raised_last;

// The calling thread gets an exception of this class once the function returns.
static void raise_later(void *class) {
    raised_last = class;
    int state = python.ensure();
    python.raise(python.thread(), class);
    python.release(state);
}

// An exception that is on its way in the calling thread, as PyErr_Fetch gives it.
typedef struct {
    void *class, *value, *trace;
} Pending;

// Takes the exception that is on its way: a destructor may call while it passes C++, and the callback would lose it.  Without one,
// runs the handlers of signals that have come, which would interrupt the callback before it begins; the class of what one raised.
static void *run_handlers(Pending *pending) {
    void *class = 0, *value = 0, *trace = 0;
    int state = python.ensure();
    if (python.occurred())
        python.fetch(&pending->class, &pending->value, &pending->trace);
    else if (python.check_signals())
        python.fetch(&class, &value, &trace);
    python.release(state);
    return class;
}

// Gives back what run_handlers took.
static void restore(Pending *pending) {
    if (!pending->class)
        return;
    int state = python.ensure();
    python.restore(pending->class, pending->value, pending->trace);
    python.release(state);
}

static int call(int index, const int64_t *values) {
    if (!callback) {
        pthread_once(&once, find_interpreter);
        if (python.complete && is_initialized())
            attach();
        if (!callback)
            return UNKNOWN;
    }
    if (!is_initialized())
        return call_at_end(index, values);
    Pending pending = {0};
    void *raised = run_handlers(&pending);
    int result = NOT_BEGUN;
    callback(index, values, &result);
    if (result == NOT_BEGUN) {  // The exception from an earlier function came as this one began: it waits for the end of this one.
        raised = raised_last;
        callback(index, values, &result);
    }
    if (result == INTERRUPTED)
        raised = orias_interruption;
    if (raised)
        raise_later(raised);
    restore(&pending);
    return result < 0 ? UNKNOWN : result;
}

// For the runtime library, whose functions follow the driver's.
EXPORT int orias_call(int index, const int64_t *values) { return call(index, values); }
