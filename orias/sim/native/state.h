/* What the engine hands over: instructions, the state of a batch of blocks, and the rows that an instruction works on. */
#pragma once
#include <math.h>
#include <stdint.h>
#include <string.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t i32;
typedef int64_t i64;

#ifndef PIECE
#define PIECE 1024 /* Threads that instructions work on together. */
#endif
#define NO_ALIAS _Pragma("GCC ivdep")
#define EACH NO_ALIAS for (i64 i = 0; i < n; i++)

enum { REGISTER, IMMEDIATE, CONSTANT, UNIFORM };
enum { F_ABS = 1, F_SIGN = 2, F_INV = 4, F_NEG = 8, I_ABS = 16, WIDE = 32, UNSIGNED_WORD = 64 };
enum { GLOBAL, SHARED, LOCAL, GENERIC };
enum { S_FTZ = 1, S_SAT = 2 };
enum { FALSE = 15 }; /* The code of a predicate that never holds. */

typedef struct {
    i32 code, guard, d;
    i32 uniform; /* 1: works on uniform registers */
    i32 kind[3], flag[3];
    u32 value[3], high[3];
    i32 p[3], q[2];
    i32 x, y, z;
    i32 closely; /* An access that has once been left to its builder: it is checked for all threads before any of them goes on. */
} Op;

typedef struct {
    u32 *registers, *uniform, *barriers;
    const u32 *alive; /* Lanes of each warp that have not exited. */
    const i64 *arrived; /* Arrivals at barriers of blocks, `arrivals` of them. */
    u8 *predicates, *uniform_predicates;
    const u32 *bank[8];
    u8 *arena, *shared, *local;
    const i64 *shared_words, *starts, *ends;
    u64 *address;
    i64 threads, warps, allocations, arena_base, shared_size, shared_reach, local_stride, local_base, local_size, local_reach;
    i64 shared_window, window_bits, local_window, may_store;
    i64 steps, instructions;
    i64 arrivals, left; /* left: threads that have not exited. */
    i64 polled; /* An atomic was executed. */
    i64 pieces; /* Pieces whose next instructions are in `places`; 0: all are at the one that is returned. */
    i64 unit; /* Threads of a piece. */
    i64 *places;
} State;

/* The rows that an instruction works on: those of threads, or with uniform instructions those of warps. */
typedef struct {
    u32 *rows;
    u8 *flags;
    i64 width;
} Rows;
