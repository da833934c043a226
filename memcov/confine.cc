// What a forked child may still ask the kernel for, once it has been confined: a seccomp filter, for the process itself
// and the threads that it starts. The filter is a search tree over the numbers of system calls.
//
// Allowed is what touches this process alone, and reading. What well-behaved code tries and can live without is refused
// with an error. Everything else traps: memcov_watch_death notes the call, and the process dies of SIGSYS. That signal
// cannot be held back: where it is blocked or ignored, the kernel kills.
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <initializer_list>

#include "memcov.h"

#ifndef SYS_openat2
#define SYS_openat2 437
#endif
#ifndef SYS_faccessat2
#define SYS_faccessat2 439
#endif
#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#endif

namespace {

constexpr uint32_t allow = SECCOMP_RET_ALLOW, trap = SECCOMP_RET_TRAP, kill_all = SECCOMP_RET_KILL_PROCESS;
constexpr uint32_t refuse(int error) { return SECCOMP_RET_ERRNO | static_cast<uint32_t>(error); }

constexpr uint32_t calls = 512;             // numbers that are looked at one by one; higher ones trap
constexpr uint32_t x32 = 0x40000000;        // the bit of another calling convention
constexpr uint32_t tcgets2 = 0x802c542a;    // isatty of newer C libraries

constexpr int allowed[] = {
    // memory
    SYS_brk, SYS_mmap, SYS_munmap, SYS_mremap, SYS_mprotect, SYS_msync, SYS_mincore,
    // descriptors that are open, and looking at files
    SYS_read, SYS_pread64, SYS_readv, SYS_preadv, SYS_write, SYS_writev, SYS_pwrite64, SYS_lseek, SYS_close,
    SYS_close_range, SYS_dup, SYS_dup2, SYS_dup3, SYS_poll, SYS_ppoll, SYS_select, SYS_pselect6, SYS_fstat, SYS_stat,
    SYS_lstat, SYS_newfstatat, SYS_statx, SYS_statfs, SYS_fstatfs, SYS_access, SYS_faccessat, SYS_faccessat2,
    SYS_readlink, SYS_readlinkat, SYS_getdents64, SYS_getcwd, SYS_fadvise64,
    // threads and signals of its own
    SYS_futex, SYS_set_robust_list, SYS_get_robust_list, SYS_rseq, SYS_set_tid_address, SYS_arch_prctl,
    SYS_sched_yield, SYS_sched_getaffinity, SYS_sched_get_priority_max, SYS_sched_get_priority_min, SYS_getcpu, SYS_membarrier, SYS_rt_sigprocmask, SYS_rt_sigreturn,
    SYS_rt_sigpending, SYS_rt_sigtimedwait, SYS_rt_sigsuspend, SYS_sigaltstack, SYS_pause, SYS_exit, SYS_exit_group,
    SYS_restart_syscall,
    // time
    SYS_nanosleep, SYS_clock_nanosleep, SYS_clock_gettime, SYS_clock_getres, SYS_gettimeofday, SYS_time, SYS_times,
    SYS_getitimer, SYS_setitimer,
    // what it is, and what it runs on
    SYS_getpid, SYS_gettid, SYS_getppid, SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid, SYS_getpgrp, SYS_getpgid,
    SYS_getsid, SYS_getrusage, SYS_getrlimit, SYS_sysinfo, SYS_uname, SYS_getrandom,
};

// Numbers that the kernel has and that are called with other means where they are missing.
constexpr int missing[] = {SYS_clone3, SYS_openat2, SYS_get_mempolicy, SYS_set_mempolicy, SYS_mbind};

// What LLVM, OpenBLAS or the C library try, and do without.
constexpr int forbidden[] = {SYS_memfd_create, SYS_mlock, SYS_sched_setscheduler, SYS_personality};

// The filter under construction. The one buffer of a process: a child has no more use for the heap than for the time.
class Filter {
public:
    explicit Filter(uint32_t pid) {
        for (uint32_t &action : actions) action = trap;
        set(allowed, allow);
        set(missing, refuse(ENOSYS));
        set(forbidden, refuse(EPERM));
        load(offsetof(seccomp_data, arch));
        unless_equal(AUDIT_ARCH_X86_64, kill_all);
        load(offsetof(seccomp_data, nr));
        jump(BPF_JGE, x32, 0, 1);
        give(kill_all);
        search(0, calls, pid);
    }

    sock_fprog program() { return {static_cast<unsigned short>(size), code}; }
    bool complete() const { return size < most; }

private:
    static constexpr size_t most = 1024;
    sock_filter code[most];
    size_t size = 0;
    uint32_t actions[calls];

    template <size_t n>
    void set(const int (&numbers)[n], uint32_t action) {
        for (int number : numbers) actions[number] = action;
    }

    void put(uint16_t what, uint32_t operand, uint8_t yes = 0, uint8_t no = 0) {
        if (complete()) code[size++] = {what, yes, no, operand};
    }
    void load(size_t offset) { put(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(offset)); }
    void low(int argument) { load(offsetof(seccomp_data, args) + 8 * static_cast<size_t>(argument)); }
    void high(int argument) { load(offsetof(seccomp_data, args) + 8 * static_cast<size_t>(argument) + 4); }
    void give(uint32_t action) { put(BPF_RET | BPF_K, action); }
    void jump(uint16_t test, uint32_t operand, uint8_t yes, uint8_t no) { put(BPF_JMP | BPF_K | test, operand, yes, no); }
    void unless_equal(uint32_t value, uint32_t action) {
        jump(BPF_JEQ, value, 1, 0);
        give(action);
    }
    void if_equal(uint32_t value, uint32_t action) {
        jump(BPF_JEQ, value, 0, 1);
        give(action);
    }
    void if_any_bit(uint32_t bits, uint32_t action) {
        jump(BPF_JSET, bits, 0, 1);
        give(action);
    }
    void one_of(int argument, std::initializer_list<uint32_t> values, uint32_t otherwise) {
        low(argument);
        for (uint32_t value : values) if_equal(value, allow);
        give(otherwise);
    }

    // Whether what is said of a number depends on its arguments.
    static bool examined(uint32_t number) {
        switch (number) {
            case SYS_open: case SYS_openat: case SYS_fcntl: case SYS_ioctl: case SYS_clone: case SYS_kill:
            case SYS_tkill: case SYS_tgkill: case SYS_prctl: case SYS_prlimit64: case SYS_rt_sigaction:
            case SYS_sched_setaffinity: case SYS_madvise:
                return true;
        }
        return false;
    }

    void examine(uint32_t number, uint32_t pid) {
        switch (number) {
            case SYS_open: case SYS_openat:
                // For reading alone. The kernel takes O_TRUNC with that, too.
                low(number == SYS_open ? 1 : 2);
                if_any_bit(O_ACCMODE | O_CREAT | O_TRUNC | (O_TMPFILE & ~O_DIRECTORY), trap);
                return give(allow);
            case SYS_fcntl:
                // Not F_SETOWN: it has the kernel send signals to others.
                return one_of(1, {F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL}, refuse(EPERM));
            case SYS_ioctl:
                // Not TIOCSTI: it types on a terminal.
                return one_of(1, {TCGETS, tcgets2, TIOCGWINSZ, FIONREAD, FIOCLEX, FIONCLEX}, refuse(ENOTTY));
            case SYS_clone:
                // What pthread_create asks for, and no other process. Bits above 31 mean nothing to clone.
                return one_of(0, {CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
                                  CLONE_SETTLS | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID}, trap);
            case SYS_kill: case SYS_tkill: case SYS_tgkill:
                return one_of(0, {pid}, trap);
            case SYS_prctl:
                return one_of(0, {PR_SET_NAME, PR_GET_NAME, PR_SET_VMA, PR_GET_DUMPABLE, PR_CAPBSET_READ},
                              refuse(EPERM));
            case SYS_prlimit64:
                // Looking at its limits, where there is no new one; NVRTC wants more stack.
                low(0);
                jump(BPF_JEQ, 0, 2, 0);
                unless_equal(pid, refuse(EPERM));
                low(1);
                if_equal(RLIMIT_STACK, allow);
                if_equal(RLIMIT_CPU, allow);
                low(2);
                unless_equal(0, refuse(EPERM));
                high(2);
                unless_equal(0, refuse(EPERM));
                return give(allow);
            case SYS_rt_sigaction:
                // The one signal that is not the program's to handle.
                low(0);
                if_equal(SIGSYS, trap);
                return give(allow);
            case SYS_sched_setaffinity:
                return one_of(0, {0, pid}, refuse(EPERM));
            case SYS_madvise:
                // MADV_HWPOISON and MADV_SOFT_OFFLINE are about the machine's memory; what comes behind them is not, such
                // as the guards that newer versions of glibc put around the stacks of threads.
                low(2);
                if_equal(100, trap);
                if_equal(101, trap);
                return give(allow);
        }
    }

    bool alike(uint32_t first, uint32_t end) const {
        for (uint32_t at = first; at < end; ++at)
            if (examined(at) || actions[at] != actions[first]) return false;
        return true;
    }

    // What is said of the numbers in [first, end); of those from `calls` on, what is said of the last one.
    void search(uint32_t first, uint32_t end, uint32_t pid) {
        if (end - first == 1 && examined(first)) return examine(first, pid);
        if (alike(first, end)) return give(actions[first]);
        const uint32_t middle = first + (end - first) / 2;
        jump(BPF_JGE, middle, 0, 1);
        const size_t fork = size;
        put(BPF_JMP | BPF_JA, 0);
        search(first, middle, pid);
        code[fork].k = static_cast<uint32_t>(size - fork - 1);
        search(middle, end, pid);
    }
};

}  // namespace

extern "C" int memcov_confine(uint64_t written) {
    const rlimit file = {written, written}, none = {0, 0};
    if (setrlimit(RLIMIT_FSIZE, &file) != 0 || setrlimit(RLIMIT_CORE, &none) != 0) return -errno;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -errno;
    static Filter filter(static_cast<uint32_t>(getpid()));
    if (!filter.complete()) return -E2BIG;
    sock_fprog program = filter.program();
    // Without this flag the kernel slows down every system call, and indirect branches, of who has a filter.
    long done = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &program);
    return done == 0 ? 0 : -errno;
}

extern "C" const char *memcov_syscall_name(int number) {
    switch (number) {
#include "syscalls.inc"  // case 0: return "read"; and so on
    }
    return "";
}
