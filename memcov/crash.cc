// Where a process died: signal, stack pointer and return addresses, into memory that its parent shares; and where it was
// again and again before its time was up.
#include <cxxabi.h>
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#include <atomic>

#include "memcov.h"

namespace {

constexpr uint32_t deepest = 100000;
constexpr uint32_t unknown_depth = 0xffffffff;
constexpr int of_filter = 1;  // SYS_SECCOMP, which the C library's headers lack
constexpr int watched[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS};

memcov_death *record;
// Room for the kernel's frame (AMX state alone takes 8 KiB), ours and the unwinder's.
alignas(16) char stack[256 << 10];
std::atomic<long> dying_thread;

bool has_unwind_data(uintptr_t pc) {
    return _Unwind_FindEnclosingFunction(reinterpret_cast<void *>(pc + 1)) != nullptr;  // it looks at pc - 1
}

struct Walk {
    uintptr_t start;  // the frame with this pc is the first that belongs to the program
    uintptr_t shift;  // what to add to its pc
    uint64_t *frames;
    uint32_t *n;
    uint32_t room;
    bool started = false;
    uint32_t depth = 0;
};

_Unwind_Reason_Code visit(struct _Unwind_Context *context, void *argument) {
    auto *walk = static_cast<Walk *>(argument);
    uintptr_t pc = _Unwind_GetIP(context);
    if (!walk->started) {
        if (pc != walk->start) return _URC_NO_REASON;  // our own frames and the kernel's
        walk->started = true;
        pc += walk->shift;
    }
    if (pc == 0) return _URC_NO_REASON;  // what lies behind the outermost frame
    if (*walk->n < walk->room) walk->frames[(*walk->n)++] = pc;
    return ++walk->depth > deepest ? _URC_END_OF_STACK : _URC_NO_REASON;
}

void unwind(ucontext_t *context) {
    auto *registers = context->uc_mcontext.gregs;
    Walk walk{static_cast<uintptr_t>(registers[REG_RIP]), 0, record->frames, &record->n, MEMCOV_FRAMES};
    if (!has_unwind_data(walk.start)) {
        // A call to nowhere: as if it had returned. The unwinder reads the registers from this very context.
        record->frames[record->n++] = walk.start;
        walk.depth = 1;
        const auto caller = *reinterpret_cast<const uintptr_t *>(registers[REG_RSP]);
        if (!has_unwind_data(caller - 1)) {
            record->depth = 1;
            return;
        }
        registers[REG_RSP] += 8;
        registers[REG_RIP] = static_cast<greg_t>(caller - 1);
        walk.start = caller - 1;
        walk.shift = 1;
    }
    const _Unwind_Reason_Code end = _Unwind_Backtrace(visit, &walk);
    if (end == _URC_END_OF_STACK && walk.started && walk.depth <= deepest) record->depth = walk.depth;
}

[[noreturn]] void die_of(int signal) {
    if (signal != SIGSYS) {  // that one has been reset, and a confined process may not touch it
        struct sigaction standard = {};
        standard.sa_handler = SIG_DFL;
        sigaction(signal, &standard, nullptr);
    }
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, signal);
    sigprocmask(SIG_UNBLOCK, &set, nullptr);
    syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), signal);
    _exit(128 + signal);
}

memcov_stacks *stacks;
itimerval period = {};
volatile bool sampling;

void on_time(int, siginfo_t *, void *argument) {
    if (stacks->n < MEMCOV_STACKS) {
        memcov_stack &stack = stacks->stacks[stacks->n];
        const auto *registers = static_cast<ucontext_t *>(argument)->uc_mcontext.gregs;
        Walk walk{static_cast<uintptr_t>(registers[REG_RIP]), 0, stack.frames, &stack.n, MEMCOV_STACK_FRAMES};
        stack.n = 0;
        sampling = true;
        const _Unwind_Reason_Code end = _Unwind_Backtrace(visit, &walk);
        sampling = false;
        stack.depth = end == _URC_END_OF_STACK && walk.depth <= deepest ? walk.depth : 0;
        if (++stacks->n < MEMCOV_STACKS && setitimer(ITIMER_PROF, &period, nullptr) == 0) return;
    }
    die_of(SIGPROF);
}

void on_death(int signal, siginfo_t *info, void *argument) {
    if (sampling) die_of(SIGPROF);  // the unwinder fell over
    const long self = syscall(SYS_gettid);
    long nobody = 0;
    if (!dying_thread.compare_exchange_strong(nobody, self)) {
        if (nobody == self) die_of(record->signal);  // the unwinder fell over: what we have must do
        for (;;) pause();                            // another thread was first
    }
    auto *context = static_cast<ucontext_t *>(argument);
    record->n = 0;
    record->depth = unknown_depth;
    record->code = info->si_code;
    record->call = signal == SIGSYS && info->si_code == of_filter ? info->si_syscall : -1;
    record->address = reinterpret_cast<uint64_t>(info->si_addr);
    record->stack = static_cast<uint64_t>(context->uc_mcontext.gregs[REG_RSP]);
    record->signal = signal;
    unwind(context);
    die_of(signal);
}

_Unwind_Reason_Code skip(struct _Unwind_Context *, void *) { return _URC_NO_REASON; }

}  // namespace

extern "C" int memcov_watch_death(memcov_death *death) {
    memset(death, 0, sizeof *death);
    record = death;
    dying_thread = 0;
    _Unwind_Backtrace(skip, nullptr);  // whatever it allocates the first time, it has now
    stack_t alternate = {};
    alternate.ss_sp = stack;
    alternate.ss_size = sizeof stack;
    if (sigaltstack(&alternate, nullptr) != 0) return -errno;
    struct sigaction action = {};
    action.sa_sigaction = on_death;
    for (int signal : watched) {
        action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER | (signal == SIGSYS ? SA_RESETHAND : 0);
        if (sigaction(signal, &action, nullptr) != 0) return -errno;
    }
    return 0;
}

extern "C" int memcov_watch_time(memcov_stacks *kept, uint64_t microseconds) {
    kept->n = 0;
    stacks = kept;
    period.it_value.tv_sec = static_cast<time_t>(microseconds / 1000000);
    period.it_value.tv_usec = static_cast<suseconds_t>(microseconds % 1000000);
    struct sigaction action = {};
    action.sa_sigaction = on_time;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
    return sigaction(SIGPROF, &action, nullptr) == 0 ? 0 : -errno;
}

extern "C" int memcov_describe(uintptr_t address, char *name, size_t name_size, char *library, size_t library_size,
                               uint64_t *offset) {
    if (!name_size || !library_size) return -EINVAL;
    *name = *library = '\0';
    Dl_info info;
    if (!dladdr(reinterpret_cast<void *>(address), &info) || !info.dli_fname) return -ENOENT;
    snprintf(library, library_size, "%s", info.dli_fname);
    const auto base = reinterpret_cast<uintptr_t>(info.dli_fbase);
    // Where the function starts: a symbol found by address may be that of another function far before.
    auto start = reinterpret_cast<uintptr_t>(_Unwind_FindEnclosingFunction(reinterpret_cast<void *>(address + 1)));
    *offset = (start ? start : address) - base;
    if (!start || !dladdr(reinterpret_cast<void *>(start), &info) || !info.dli_sname ||
        reinterpret_cast<uintptr_t>(info.dli_saddr) != start)
        return 0;
    memcov_demangle(info.dli_sname, name, name_size);
    return 0;
}

extern "C" void memcov_demangle(const char *symbol, char *name, size_t name_size) {
    int status = 0;
    char *demangled = abi::__cxa_demangle(symbol, nullptr, nullptr, &status);
    snprintf(name, name_size, "%s", status == 0 && demangled ? demangled : symbol);
    free(demangled);
}
