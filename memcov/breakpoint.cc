// One-shot breakpoints: a block costs one trap when it is first reached, and nothing from then on.
//
// The text that traps is a copy in a memfd. A child maps it over the library's own text; everybody writes it through a
// second mapping that the ancestors made, so a block disarmed by one child is disarmed for all, and a child that dies
// anywhere leaves a consistent state: the handler can be cut off after any of its stores.
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <new>
#include <vector>

#include "memcov.h"

#ifndef MFD_EXEC
#define MFD_EXEC 0x10U
#endif

namespace {

constexpr uint8_t int3 = 0xcc;
constexpr uintptr_t page = 4096;
// Text is copied in units of huge pages: where the kernel grants these to shared memory, a child then faults in 2 MiB
// at a time.
constexpr uintptr_t huge = uintptr_t{2} << 20;
// The handler finds a block from an index of the text in steps of this many bytes, some ten blocks each.
constexpr unsigned step_bits = 8;
constexpr unsigned longest_chain = 64;  // blocks that one trap takes along

template <class T>
using Shared = std::atomic<T>;
static_assert(Shared<uint8_t>::is_always_lock_free && Shared<uint32_t>::is_always_lock_free);

// A slot's log. Entries are block + 1, and 0 is free: claiming an entry and writing it are one store, so that a child
// killed in between leaves no hole.
struct Log {
    Shared<uint32_t> count;
    Shared<uint32_t> entries[];
};

struct Run {  // text that is mapped in one piece
    uintptr_t start, end;
};

// One library's text.
struct Part {
    uintptr_t base;
    uintptr_t low, high;      // all its blocks lie in [low, high)
    size_t begin, end;        // its blocks, among those of all libraries
    const uint32_t *first;    // step of the text -> its first block, or the next one behind it
    int memfd;
    uintptr_t text;           // the address that the start of the memfd stands for
    Shared<uint8_t> *alias;   // the memfd, writable unless sealed
    size_t size;              // of the memfd
    std::vector<Run> runs;

    size_t steps() const { return ((high - low) >> step_bits) + 1; }
};

}  // namespace

struct memcov {
    size_t n;
    unsigned slots;
    std::vector<Part> *parts;

    // Shared tables.
    void *tables;             // where they begin
    size_t table_bytes;
    const uint32_t *blocks;
    const uint32_t *successors;  // the block that is certain to run next
    const uint8_t *original;  // first byte of each block
    Shared<uint8_t> *hit;
    Shared<uint8_t> *counted;
    Shared<uint64_t> *total;
    uint8_t *logs;
    size_t log_bytes;

    // Of this process.
    unsigned slot;
    std::vector<uint32_t> *copy;  // what memcov_new returned
    memcov *next_entered;
};

namespace {

memcov *entered;  // the libraries of which this process runs armed text
struct sigaction previous;
bool sealed;             // whether what is shared is read-only now
std::atomic_flag busy = ATOMIC_FLAG_INIT;  // who holds this writes what is shared, or changes whether that can be written

// Held by signal handlers as well: they interrupt nobody who holds it, since no code that does is armed.
struct Hold {
    Hold() {
        while (busy.test_and_set()) {
        }
    }
    ~Hold() { busy.clear(); }
};

Log *log_of(const memcov *cov, unsigned slot) { return reinterpret_cast<Log *>(cov->logs + slot * cov->log_bytes); }

Shared<uint8_t> &text_of(const memcov *cov, size_t block) {
    const Part *part = cov->parts->data();
    while (block >= part->end) ++part;
    return part->alias[part->base + cov->blocks[block] - part->text];
}

// The number of entries; one that its writer could not count any more is counted here.
uint32_t log_size(const memcov *cov, Log *log) {
    uint32_t count = log->count.load();
    while (count < cov->n && log->entries[count].load()) ++count;
    return count;
}

// The log of the slot gets the block.
void append(const memcov *cov, uint32_t block) {
    Log *log = log_of(cov, cov->slot);
    for (uint32_t at = log->count.load(); at < cov->n; ++at) {
        uint32_t free_entry = 0;
        if (!log->entries[at].compare_exchange_strong(free_entry, block + 1)) continue;
        uint32_t count = log->count.load();
        while (count < at + 1 && !log->count.compare_exchange_weak(count, at + 1)) {
        }
        return;
    }
}

// Log the block where this process is the first to reach it, and disarm it.
// The order matters: logged, then hit, then disarmed. Cut off anywhere, the block is either still armed or logged.
void reach(const memcov *cov, uint32_t block) {
    if (!cov->hit[block].load()) {
        append(cov, block);
        cov->hit[block].store(1);
    }
    text_of(cov, block).store(cov->original[block]);
    // Armed again meanwhile, by whoever gave up the case that had reached it first: so it stays.
    if (!cov->hit[block].load()) text_of(cov, block).store(int3);
}

// Let this process write what it needs of the shared memory, or nothing of it.
int protect(const memcov *cov, int rights) {
    for (const Part &part : *cov->parts)
        if (mprotect(part.alias, part.size, rights) != 0) return -errno;
    if (mprotect(cov->tables, cov->table_bytes, rights) != 0 ||
        mprotect(log_of(cov, cov->slot), cov->log_bytes, rights) != 0)
        return -errno;
    return 0;
}

// Whether `address` is that of an armed block of a part; if so it is reached now, and with it those that are certain to
// follow, up to one that somebody has reached before.
bool take_trap_in(const memcov *cov, const Part &part, uintptr_t address) {
    if (address < part.low || address >= part.high) return false;
    const auto wanted = static_cast<uint32_t>(address - part.base);
    size_t block = part.first[(address - part.low) >> step_bits];
    while (block < part.end && cov->blocks[block] < wanted) ++block;
    if (block >= part.end || cov->blocks[block] != wanted) return false;
    if (cov->original[block] == int3) return false;  // the program's own
    const Hold hold;
    if (sealed) protect(cov, PROT_READ | PROT_WRITE);
    reach(cov, static_cast<uint32_t>(block));
    uint32_t next = cov->successors[block];
    for (unsigned i = 0; i < longest_chain && next != MEMCOV_NO_SUCCESSOR; ++i, next = cov->successors[next]) {
        if (cov->hit[next].load() || cov->original[next] == int3) break;
        reach(cov, next);
    }
    if (sealed) protect(cov, PROT_READ);
    return true;
}

bool take_trap(uintptr_t address) {
    for (const memcov *cov = entered; cov; cov = cov->next_entered)
        for (const Part &part : *cov->parts)
            if (take_trap_in(cov, part, address)) return true;
    return false;
}

void on_trap(int signal, siginfo_t *info, void *context) {
    auto *registers = static_cast<ucontext_t *>(context)->uc_mcontext.gregs;
    // int3 raises SIGTRAP with SI_KERNEL; single steps, watchpoints and kill() say something else.
    const bool trap = info->si_code == SI_KERNEL || info->si_code == TRAP_BRKPT;
    if (trap && take_trap(static_cast<uintptr_t>(registers[REG_RIP]) - 1)) {
        registers[REG_RIP] -= 1;
        return;
    }
    if (previous.sa_handler == SIG_DFL || (previous.sa_handler == SIG_IGN && trap)) {
        // The kernel does not let a trap be ignored either.
        struct sigaction standard = {};
        standard.sa_handler = SIG_DFL;
        sigaction(signal, &standard, nullptr);
        syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), signal);
    } else if (previous.sa_flags & SA_SIGINFO) {
        previous.sa_sigaction(signal, info, context);
    } else if (previous.sa_handler != SIG_IGN) {
        previous.sa_handler(signal);
    }
}

void *map_shared(size_t size, int flags = 0) {
    void *mapping = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | flags, -1, 0);
    return mapping == MAP_FAILED ? nullptr : mapping;
}

struct Text {  // the executable segment of the object at `base`
    uintptr_t base, start = 0, end = 0;
};

int find_text(struct dl_phdr_info *info, size_t, void *argument) {
    auto *text = static_cast<Text *>(argument);
    if (info->dlpi_addr != text->base) return 0;
    for (unsigned i = 0; i < info->dlpi_phnum; ++i) {
        const auto &p = info->dlpi_phdr[i];
        if (p.p_type != PT_LOAD || !(p.p_flags & PF_X)) continue;
        if (text->end) return 0;  // two of them: not what any linker makes
        text->start = (text->base + p.p_vaddr) & ~(page - 1);
        text->end = (text->base + p.p_vaddr + p.p_memsz + page - 1) & ~(page - 1);
    }
    return 1;
}

struct Wanted {
    const char *path;
    uintptr_t base;
};

int find_base(struct dl_phdr_info *info, size_t, void *argument) {
    auto *wanted = static_cast<Wanted *>(argument);
    char real[PATH_MAX];
    if (!info->dlpi_name[0] || !realpath(info->dlpi_name, real) || strcmp(real, wanted->path) != 0) return 0;
    wanted->base = info->dlpi_addr;
    return 1;
}

// Cover every block with whole huge pages, as far as the segment reaches.
std::vector<Run> runs_of(const Text &text, const uint32_t *blocks, size_t n) {
    std::vector<Run> runs;
    for (size_t i = 0; i < n; ++i) {
        const uintptr_t address = text.base + blocks[i];
        if (!runs.empty() && address < runs.back().end) continue;
        const uintptr_t start = std::max(address & ~(huge - 1), text.start);
        const uintptr_t end = std::min((address & ~(huge - 1)) + huge, text.end);
        if (!runs.empty() && runs.back().end == start) runs.back().end = end;
        else runs.push_back({start, end});
    }
    return runs;
}

// Release what a failed memcov_create made.
struct Guard {
    memcov *cov;
    ~Guard() {
        if (!cov) return;
        if (cov->parts)
            for (const Part &part : *cov->parts)
                if (part.memfd >= 0) close(part.memfd);
        delete cov->parts;
        delete cov->copy;
        delete cov;
    }
};

// Describe a library whose blocks are to begin at index `begin`; false unless they lie in its text, ascending.
bool describe(const memcov_library &library, size_t begin, Part *part) {
    Text text{library.base};
    dl_iterate_phdr(find_text, &text);
    const size_t n = library.n;
    const uint32_t *blocks = library.blocks;
    if (!text.end || n == 0 || n >= UINT32_MAX) return false;
    for (size_t i = 0; i < n; ++i) {
        const bool known =
            !library.successors || library.successors[i] < n || library.successors[i] == MEMCOV_NO_SUCCESSOR;
        if (!known || library.base + blocks[i] < text.start || library.base + blocks[i] >= text.end ||
            (i > 0 && blocks[i] <= blocks[i - 1]))
            return false;
    }
    part->base = library.base;
    part->low = library.base + blocks[0];
    part->high = library.base + blocks[n - 1] + 1;
    part->begin = begin;
    part->end = begin + n;
    part->runs = runs_of(text, blocks, n);
    return true;
}

// Copy a library's text. Offsets in the copy agree with the addresses modulo the size of a huge page, or the kernel could
// not use any.
bool copy_text(Part *part) {
    part->text = part->runs.front().start & ~(huge - 1);
    const size_t size = part->size = (part->runs.back().end - part->text + huge - 1) & ~(huge - 1);
    part->memfd = memfd_create("memcov", MFD_CLOEXEC | MFD_EXEC);
    if (part->memfd < 0) part->memfd = memfd_create("memcov", MFD_CLOEXEC);  // kernels before 6.3
    if (part->memfd < 0 || ftruncate(part->memfd, static_cast<off_t>(size)) != 0) return false;
    auto *reserved = static_cast<uint8_t *>(
        mmap(nullptr, size + huge, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    if (reserved == MAP_FAILED) return false;
    auto *alias = reinterpret_cast<uint8_t *>((reinterpret_cast<uintptr_t>(reserved) + huge - 1) & ~(huge - 1));
    if (mmap(alias, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, part->memfd, 0) == MAP_FAILED) return false;
    madvise(alias, size, MADV_HUGEPAGE);
    part->alias = reinterpret_cast<Shared<uint8_t> *>(alias);
    for (const Run &run : part->runs)
        memcpy(alias + (run.start - part->text), reinterpret_cast<const void *>(run.start), run.end - run.start);
    return true;
}

// Fill a part's index of its blocks, and the successors of these, among those of all libraries.
void fill_tables(const memcov_library &library, const Part &part, uint32_t *blocks, uint32_t *successors,
                 uint32_t *first) {
    const auto begin = static_cast<uint32_t>(part.begin);
    memcpy(blocks + begin, library.blocks, library.n * sizeof(uint32_t));
    for (size_t i = 0; i < library.n; ++i) {
        const uint32_t next = library.successors ? library.successors[i] : MEMCOV_NO_SUCCESSOR;
        successors[begin + i] = next == MEMCOV_NO_SUCCESSOR ? next : begin + next;
    }
    for (size_t i = 0, step = 0; step < part.steps(); ++step) {
        while (i < library.n && library.blocks[i] - library.blocks[0] < step << step_bits) ++i;
        first[step] = static_cast<uint32_t>(begin + i);
    }
}

memcov *create(const memcov_library *libraries, size_t count, unsigned slots) {
    auto *cov = new memcov{};
    Guard guard{cov};
    cov->slots = slots;
    cov->parts = new std::vector<Part>(count);
    cov->copy = new std::vector<uint32_t>;
    size_t n = 0, steps = 0;
    for (Part &part : *cov->parts) part.memfd = -1;
    for (size_t k = 0; k < count; ++k) {
        Part &part = (*cov->parts)[k];
        if (!describe(libraries[k], n, &part)) {
            errno = EINVAL;
            return nullptr;
        }
        n = part.end;
        steps += part.steps();
    }
    if (n == 0 || n >= UINT32_MAX || slots == 0) {
        errno = EINVAL;
        return nullptr;
    }
    cov->n = n;
    for (Part &part : *cov->parts)
        if (!copy_text(&part)) return nullptr;

    const size_t words = 2 * n + steps + 2;
    const size_t table_bytes = cov->table_bytes = words * sizeof(uint32_t) + 3 * n;
    auto *tables = static_cast<uint32_t *>(map_shared(table_bytes));
    cov->tables = tables;
    cov->log_bytes = (sizeof(Log) + n * sizeof(uint32_t) + page - 1) & ~(page - 1);
    cov->logs = static_cast<uint8_t *>(map_shared(cov->log_bytes * slots, MAP_NORESERVE));
    if (!tables || !cov->logs) return nullptr;
    madvise(tables, table_bytes, MADV_HUGEPAGE);
    cov->total = reinterpret_cast<Shared<uint64_t> *>(tables);
    uint32_t *blocks = tables + 2;
    uint32_t *successors = blocks + n;
    uint32_t *first = successors + n;
    auto *original = reinterpret_cast<uint8_t *>(first + steps);
    cov->hit = reinterpret_cast<Shared<uint8_t> *>(original + n);
    cov->counted = reinterpret_cast<Shared<uint8_t> *>(original + 2 * n);
    cov->blocks = blocks;
    cov->successors = successors;
    cov->original = original;
    for (size_t k = 0; k < count; ++k) {
        Part &part = (*cov->parts)[k];
        fill_tables(libraries[k], part, blocks, successors, first);
        part.first = first;
        first += part.steps();
    }
    for (size_t i = 0; i < n; ++i) {
        Shared<uint8_t> &byte = text_of(cov, i);
        original[i] = byte.load();
        byte.store(int3);
    }
    guard.cov = nullptr;
    return cov;
}

}  // namespace

extern "C" int memcov_base(const char *path, uintptr_t *base) {
    Wanted wanted{path, 0};
    if (!dl_iterate_phdr(find_base, &wanted)) return -ENOENT;
    *base = wanted.base;
    return 0;
}

extern "C" memcov *memcov_create(const memcov_library *libraries, size_t count, unsigned slots) {
    try {
        return create(libraries, count, slots);
    } catch (const std::bad_alloc &) {
        errno = ENOMEM;
        return nullptr;
    }
}

extern "C" int memcov_enter(memcov *cov, unsigned slot) {
    if (slot >= cov->slots) return -EINVAL;
    cov->slot = slot;
    // Of the logs, a process needs its own.
    const size_t before = slot * cov->log_bytes, behind = (cov->slots - slot - 1) * cov->log_bytes;
    if (mprotect(log_of(cov, slot), cov->log_bytes, PROT_READ | PROT_WRITE) != 0 ||
        (before && mprotect(cov->logs, before, PROT_READ) != 0) ||
        (behind && mprotect(log_of(cov, slot + 1), behind, PROT_READ) != 0))
        return -errno;
    for (const memcov *other = entered; other; other = other->next_entered)
        if (other == cov) return 0;
    if (!entered) {
        // Asynchronous signals wait until the handler is done; it must be able to trap itself all the same, because a
        // blocked trap is fatal. An alternate stack, where there is one, leaves the depth of recursion as it was.
        struct sigaction action = {};
        action.sa_sigaction = on_trap;
        action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK | SA_RESTART;
        sigfillset(&action.sa_mask);
        for (int fault : {SIGTRAP, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT}) sigdelset(&action.sa_mask, fault);
        if (sigaction(SIGTRAP, &action, &previous) != 0) return -errno;
    }
    cov->next_entered = entered;
    entered = cov;
    for (const Part &part : *cov->parts)
        for (const Run &run : part.runs) {
            void *mapping = mmap(reinterpret_cast<void *>(run.start), run.end - run.start, PROT_READ | PROT_EXEC,
                                 MAP_SHARED | MAP_FIXED, part.memfd, static_cast<off_t>(run.start - part.text));
            if (mapping == MAP_FAILED) return -errno;
        }
    return 0;
}

extern "C" int memcov_seal(int seal) {
    const Hold hold;
    for (const memcov *cov = entered; cov; cov = cov->next_entered)
        if (int failed = protect(cov, seal ? PROT_READ : PROT_READ | PROT_WRITE)) return failed;
    sealed = seal != 0;
    return 0;
}

extern "C" int64_t memcov_new(memcov *cov, unsigned slot, const uint32_t **indices) {
    if (slot >= cov->slots) return -EINVAL;
    Log *log = log_of(cov, slot);
    const uint32_t count = log_size(cov, log);
    if (indices) {
        try {
            cov->copy->resize(count);
        } catch (const std::bad_alloc &) {
            return -ENOMEM;
        }
        for (uint32_t i = 0; i < count; ++i) (*cov->copy)[i] = log->entries[i].load() - 1;
        *indices = cov->copy->data();
    }
    return count;
}

namespace {

// Forget the log from position `from` on, and do to each of its blocks what `visit` says.
template <class F>
void cut(memcov *cov, unsigned slot, size_t from, F visit) {
    Log *log = log_of(cov, slot);
    const uint32_t count = log_size(cov, log);
    // From the back, and each entry last: whoever takes up what a kill cuts off here finds no hole in the log.
    for (size_t i = count; i-- > from;) {
        const uint32_t entry = log->entries[i].load();
        if (entry && entry <= cov->n) visit(entry - 1);
        log->count.store(static_cast<uint32_t>(i));
        log->entries[i].store(0);
    }
}

bool count_block(memcov *cov, size_t block) {
    cov->hit[block].store(1);
    text_of(cov, block).store(cov->original[block]);
    if (cov->counted[block].exchange(1)) return false;
    cov->total->fetch_add(1);
    return true;
}

// Not hit first, then armed: a trap in between finds the block as it was created.
void arm(memcov *cov, size_t block) {
    cov->hit[block].store(0);
    text_of(cov, block).store(int3);
}

}  // namespace

extern "C" int memcov_begin(memcov *cov, unsigned slot) {
    if (slot >= cov->slots) return -EINVAL;
    cut(cov, slot, 0, [](uint32_t) {});
    return 0;
}

extern "C" int64_t memcov_commit(memcov *cov, unsigned slot, size_t from) {
    if (slot >= cov->slots) return -EINVAL;
    Log *log = log_of(cov, slot);
    const uint32_t count = log_size(cov, log);
    int64_t fresh = 0;
    for (size_t i = from; i < count; ++i) fresh += count_block(cov, log->entries[i].load() - 1);
    return fresh;
}

extern "C" int memcov_rearm(memcov *cov, unsigned slot, size_t from) {
    if (slot >= cov->slots) return -EINVAL;
    cut(cov, slot, from, [cov](uint32_t block) { arm(cov, block); });
    return 0;
}

extern "C" int memcov_restore(memcov *cov, const uint32_t *indices, size_t n) {
    for (size_t i = 0; i < n; ++i)
        if (indices[i] >= cov->n) return -EINVAL;
    for (size_t i = 0; i < n; ++i) count_block(cov, indices[i]);
    return 0;
}

extern "C" int memcov_reset(memcov *cov) {
    for (unsigned slot = 0; slot < cov->slots; ++slot) memcov_begin(cov, slot);
    for (size_t block = 0; block < cov->n; ++block) {
        cov->counted[block].store(0);
        arm(cov, block);
    }
    cov->total->store(0);
    return 0;
}

extern "C" int64_t memcov_total(const memcov *cov) { return static_cast<int64_t>(cov->total->load()); }

extern "C" const uint8_t *memcov_counted(const memcov *cov) {
    return reinterpret_cast<const uint8_t *>(cov->counted);
}
