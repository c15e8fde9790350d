// The driver library: each exported function hands its arguments as numbers to a callback in Python.
// The stubs (one for each line of functions.txt) follow this file; orias/driver/library.py writes them.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { INTERRUPTED = -1, NOT_BEGUN = -3, INVALID_VALUE = 1, DEINITIALIZED = 4, NOT_SUPPORTED = 801, UNKNOWN = 999 };

typedef struct {
    char bytes[64];
} Handle;
typedef void (*Callback)(int index, const int64_t *values, int *result);
static volatile Callback callback;
static int (*is_initialized)(void);
static pthread_once_t once = PTHREAD_ONCE_INIT;

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
    int (*ensure)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "PyGILState_Ensure");
    void (*release)(int) = (void (*)(int))dlsym(RTLD_DEFAULT, "PyGILState_Release");
    int (*run)(const char *) = (int (*)(const char *))dlsym(RTLD_DEFAULT, "PyRun_SimpleString");
    Dl_info self;
    if (!ensure || !release || !run || !dladdr((void *)attach, &self))
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
    int state = ensure();
    static int tried;
    if (!callback && !tried) {
        tried = 1;
        atexit(end);
        run(text);
    }
    release(state);
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
    int (*ensure)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "PyGILState_Ensure");
    void (*release)(int) = (void (*)(int))dlsym(RTLD_DEFAULT, "PyGILState_Release");
    unsigned long (*thread)(void) = (unsigned long (*)(void))dlsym(RTLD_DEFAULT, "PyThread_get_thread_ident");
    int (*raise)(unsigned long, void *) = (int (*)(unsigned long, void *))dlsym(RTLD_DEFAULT, "PyThreadState_SetAsyncExc");
    if (ensure && release && thread && raise) {
        int state = ensure();
        raise(thread(), class);
        release(state);
    }
}

// An exception that is on its way in the calling thread, as PyErr_Fetch gives it.
typedef struct {
    void *class, *value, *trace;
} Pending;

// Takes the exception that is on its way: a destructor may call while it passes C++, and the callback would lose it.  Without one,
// runs the handlers of signals that have come, which would interrupt the callback before it begins; the class of what one raised.
static void *run_handlers(Pending *pending) {
    int (*ensure)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "PyGILState_Ensure");
    void (*release)(int) = (void (*)(int))dlsym(RTLD_DEFAULT, "PyGILState_Release");
    void *(*occurred)(void) = (void *(*)(void))dlsym(RTLD_DEFAULT, "PyErr_Occurred");
    int (*check)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "PyErr_CheckSignals");
    void (*fetch)(void **, void **, void **) = (void (*)(void **, void **, void **))dlsym(RTLD_DEFAULT, "PyErr_Fetch");
    void *class = 0, *value = 0, *trace = 0;
    if (ensure && release && occurred && check && fetch) {
        int state = ensure();
        if (occurred())
            fetch(&pending->class, &pending->value, &pending->trace);
        else if (check())
            fetch(&class, &value, &trace);
        release(state);
    }
    return class;
}

// Gives back what run_handlers took.
static void restore(Pending *pending) {
    int (*ensure)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "PyGILState_Ensure");
    void (*release)(int) = (void (*)(int))dlsym(RTLD_DEFAULT, "PyGILState_Release");
    void (*give)(void *, void *, void *) = (void (*)(void *, void *, void *))dlsym(RTLD_DEFAULT, "PyErr_Restore");
    if (pending->class && ensure && release && give) {
        int state = ensure();
        give(pending->class, pending->value, pending->trace);
        release(state);
    }
}

static int call(int index, const int64_t *values) {
    if (!callback) {
        pthread_once(&once, find_interpreter);
        if (is_initialized && is_initialized())
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
