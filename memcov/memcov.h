/* memcov: coverage of a shared library that is already loaded, the place where a child died, and what a child may do.
 *
 * One C ABI for every backend; Python loads it with ctypes (tzerlike/coverage.py). Everything a child
 * records lies in memory shared with its ancestors, so a child that is killed loses nothing.
 *
 * Life of the breakpoint backend:
 *   zygote:  blocks, successors = memcov_find_blocks(file)          (cached by the caller, see blocks.cc)
 *            cov = memcov_create(libraries, count, slots)
 *   worker s, before a case:  memcov_begin(cov, s)
 *   its forked child, first:  memcov_enter(cov, s)      (maps the armed text over the library's own)
 *   worker, after the case:   memcov_new(cov, s, ...)   the blocks that this case was the first to reach
 *                             memcov_commit(cov, s)     counts them, or
 *                             memcov_rearm(cov, s, 0)   arms them again: the case was rejected or died
 *
 * Only processes that called memcov_enter run armed text: what a worker does for itself is no coverage.
 * All functions return 0 (or the value asked for) on success and a negative errno on failure.
 */
#ifndef MEMCOV_H
#define MEMCOV_H
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#define MEMCOV_API __attribute__((visibility("default")))
#define MEMCOV_ABI 9
#define MEMCOV_NO_SUCCESSOR 0xffffffffU

typedef struct memcov memcov;

MEMCOV_API int memcov_abi(void);

/* Basic blocks of `file` (ELF64, x86-64) that belong to the program itself and not to a library linked into
 * it: ascending virtual addresses as in the file. `own_prefix` is the source-path prefix that marks the
 * program's own functions ("/project/"); NULL takes every function. (*successors)[i] is the index of the block that
 * is certain to run after block i: i falls through into it or jumps there unconditionally, inside one function, and
 * holds no call and nothing else but a fault that could keep it from doing so; or MEMCOV_NO_SUCCESSOR. Both arrays
 * are malloc'ed (memcov_free releases them). Returns the number of blocks. */
MEMCOV_API int64_t memcov_find_blocks(const char *file, const char *own_prefix, uint32_t **blocks,
                                      uint32_t **successors);
/* The functions of the program itself in `file`, as memcov_find_blocks tells them, by ascending address; (*hashes)[i] is
 * a hash of the instructions of the function at (*starts)[i] without the distances to what lies outside of it, so that
 * it is the same wherever the linker puts the function. Returns the number of functions. */
MEMCOV_API int64_t memcov_find_functions(const char *file, const char *own_prefix, uint32_t **starts,
                                         uint64_t **hashes);
MEMCOV_API void memcov_free(void *pointer);

/* The load bias (dlpi_addr) of the loaded library whose file is `path`, an absolute path without symbolic links;
 * -ENOENT when this process has not loaded it. */
MEMCOV_API int memcov_base(const char *path, uintptr_t *base);

/* A loaded library: its load bias (dlpi_addr), n blocks at base + blocks[i], and for each its successor, an index of the
 * same library or MEMCOV_NO_SUCCESSOR; `successors` may be NULL: every block traps for itself. */
typedef struct {
    uintptr_t base;
    const uint32_t *blocks;
    const uint32_t *successors;
    size_t n;
} memcov_library;

/* Prepare coverage of `count` loaded libraries, with `slots` independent logs. Block i of library k has, from here on,
 * the index i plus the number of blocks of those before it. Copies the text pages to a memfd for each library and writes
 * a breakpoint at each block of the copy; nothing changes for the caller. A block that is reached takes its successor
 * along, and that its own, without traps of their own; so a case that dies of a fault may have logged a few blocks right
 * behind it. All arrays are copied. NULL on failure, with errno. */
MEMCOV_API memcov *memcov_create(const memcov_library *libraries, size_t count, unsigned slots);

/* Take blocks as already counted (resume): disarms them and adds them to the total. */
MEMCOV_API int memcov_restore(memcov *, const uint32_t *indices, size_t n);

/* In a forked child: run armed text from here on and log to `slot`; again: log to another slot. Installs the SIGTRAP
 * handler; breakpoints of others go to the handler that it replaces. Needs the memfd, so close no descriptors before. */
MEMCOV_API int memcov_enter(memcov *, unsigned slot);

/* In a process that has called memcov_enter, around code that nobody vouches for: with 1, everything that memcov shares
 * with other processes becomes read-only here, with 0 what this process needs writable again. Blocks are recorded in
 * both states. Does nothing elsewhere. */
MEMCOV_API int memcov_seal(int sealed);

/* Forget the slot's log. */
MEMCOV_API int memcov_begin(memcov *, unsigned slot);
/* Number of blocks in the slot's log; *indices (unless NULL) points to a copy of them (indices), in the
 * order of discovery, valid until the next call. Two threads that reach a block in the same instant log it twice. */
MEMCOV_API int64_t memcov_new(memcov *, unsigned slot, const uint32_t **indices);
/* Count the log from position `from` on; returns how many blocks were new to the total. */
MEMCOV_API int64_t memcov_commit(memcov *, unsigned slot, size_t from);
/* Arm the blocks of the log again from position `from` on, and cut the log there. */
MEMCOV_API int memcov_rearm(memcov *, unsigned slot, size_t from);
/* Arm every block again and forget the total: the state after memcov_create. */
MEMCOV_API int memcov_reset(memcov *);

/* Blocks counted so far, by all slots. */
MEMCOV_API int64_t memcov_total(const memcov *);
/* One byte a block, 1 where counted; n bytes, shared. */
MEMCOV_API const uint8_t *memcov_counted(const memcov *);

/* --- edges of instrumented libraries (sancov.cc) --------------------------------------------------------
 *
 * For libraries that clang compiled with -fsanitize-coverage=inline-bool-flag,pc-table and that were linked by lld with
 * sancov_hooks.o and the script sancov.ld. Life and meaning are those of the breakpoint backend, function by function;
 * instead of blocks there are the edges of all instrumented libraries that the process had loaded when
 * memcov_sancov_create was called, in order of their paths: library k has the indices [first, first + n). Whether they
 * were loaded before libmemcov or after it makes no difference. An edge that slots reach at the same time is in the log
 * of each of them and counts once. */
typedef struct memcov_sancov memcov_sancov;

typedef struct {
    const char *path;      /* as the loader knows it */
    uintptr_t base;        /* load bias */
    size_t first, n;
    const uintptr_t *pcs;  /* two words an edge: its address in this process; 1 where a function begins */
} memcov_sancov_library;

/* Whether this process has loaded an instrumented library. */
MEMCOV_API int memcov_sancov_present(void);
/* NULL on failure, with errno: ENOENT when no library is instrumented, ENOTSUP when one was linked without sancov.ld. */
MEMCOV_API memcov_sancov *memcov_sancov_create(unsigned slots);
/* The number of libraries; *libraries lives as long as the process. */
MEMCOV_API size_t memcov_sancov_libraries(const memcov_sancov *, const memcov_sancov_library **libraries);
MEMCOV_API int memcov_sancov_restore(memcov_sancov *, const uint32_t *indices, size_t n);
MEMCOV_API int memcov_sancov_enter(memcov_sancov *, unsigned slot);
/* Like memcov_seal; the flags of the slot stay writable, since the instrumented code itself writes them. */
MEMCOV_API int memcov_sancov_seal(int sealed);
MEMCOV_API int memcov_sancov_begin(memcov_sancov *, unsigned slot);
MEMCOV_API int64_t memcov_sancov_new(memcov_sancov *, unsigned slot, const uint32_t **indices);
MEMCOV_API int64_t memcov_sancov_commit(memcov_sancov *, unsigned slot, size_t from);
MEMCOV_API int memcov_sancov_rearm(memcov_sancov *, unsigned slot, size_t from);
MEMCOV_API int memcov_sancov_reset(memcov_sancov *);
MEMCOV_API int64_t memcov_sancov_total(const memcov_sancov *);
MEMCOV_API const uint8_t *memcov_sancov_counted(const memcov_sancov *);

/* --- where a child died (crash.cc) --------------------------------------------------------------------- */

#define MEMCOV_FRAMES 64
typedef struct {
    int32_t signal;      /* 0: none */
    int32_t code;        /* si_code */
    int32_t call;        /* the system call that memcov_confine does not allow; -1: none */
    uint64_t address;    /* si_addr */
    uint64_t stack;      /* stack pointer at the fault, to tell a stack overflow */
    uint32_t n;          /* frames, innermost first */
    uint32_t depth;      /* frames in all, 0xffffffff when deeper than 100000 or the unwinder failed */
    uint64_t frames[MEMCOV_FRAMES];  /* return addresses; the first is the faulting instruction */
} memcov_death;

/* In a forked child: on SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT and SIGSYS fill *death (shared memory of
 * the caller), then die of the signal by its default action. Runs on an alternate stack. */
MEMCOV_API int memcov_watch_death(memcov_death *death);

#define MEMCOV_STACKS 8
#define MEMCOV_STACK_FRAMES 256
typedef struct {
    uint32_t n;          /* frames that are kept, innermost first */
    uint32_t depth;      /* frames in all, 0 where the stack could not be followed to its end */
    uint64_t frames[MEMCOV_STACK_FRAMES];
} memcov_stack;
typedef struct {
    uint32_t n;          /* stacks so far; whoever starts a timer anew sets it to 0 */
    memcov_stack stacks[MEMCOV_STACKS];
} memcov_stacks;

/* In a forked child, after memcov_watch_death: from here on a SIGPROF, the signal of a timer of processor time, does not
 * kill at once. *stacks (shared memory of the caller) gets the stack of that moment and, after each `microseconds` of
 * processor time, another one; behind the last the process dies of SIGPROF. */
MEMCOV_API int memcov_watch_time(memcov_stacks *stacks, uint64_t microseconds);

/* --- what a child may ask the kernel for (confine.cc) ---------------------------------------------------- */

/* In a forked child with one thread, after memcov_enter and memcov_watch_death: from here on, for this process and all
 * that it starts, a file grows to `written` bytes at most (a write beyond that fails with EFBIG), there is no core file,
 * and a seccomp filter allows what confine.cc lists. Another system call ends the process by SIGSYS; whatever the
 * process does about that signal, the call is not made. Negative errno where the kernel refuses. */
MEMCOV_API int memcov_confine(uint64_t written);

/* The name of a system call; "" where this machine's headers have none. */
MEMCOV_API const char *memcov_syscall_name(int number);

/* The function that holds `address`: its demangled name when a dynamic symbol stands at its start, else empty; its
 * start relative to its library in *offset; the library's path, as it was loaded, in `library`. Pass a return
 * address less 1. 0, or -ENOENT. */
MEMCOV_API int memcov_describe(uintptr_t address, char *name, size_t name_size, char *library, size_t library_size,
                               uint64_t *offset);

/* The name that a C++ symbol stands for; the symbol itself where it is none. */
MEMCOV_API void memcov_demangle(const char *symbol, char *name, size_t name_size);

/* Fill the 256 KiB of the stack below the caller with `byte`: code that runs next and reads what it has not written
 * finds that. Always 0. */
MEMCOV_API int memcov_soil_stack(unsigned char byte);

#ifdef __cplusplus
}
#endif
#endif
