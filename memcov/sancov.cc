// Edges of libraries that clang instrumented: a flag byte each, which the code sets where it is 0.
//
// Each slot has a copy of all flags in a memfd; a child maps its slot's copy over the libraries' own flags, so that what
// it reaches is in shared memory at once, whatever it dies of. A flag is 0 (nobody came here since it was forgotten),
// fresh (reached, not in the log yet), or known. The code sets only flags that are 0, so that to look for what a case
// has reached is to search the flags for the byte `fresh`.
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "memcov.h"
#include "sancov_hooks.h"

namespace {

constexpr uintptr_t page = 4096;
constexpr uint8_t fresh = 1;  // what instrumented code stores
constexpr uint8_t known = 3;  // not 0 in any bit that the code may test

template <class T>
using Shared = std::atomic<T>;

struct Log {
    Shared<uint32_t> count;
    Shared<uint32_t> entries[];
};

struct Library {
    std::string path;
    memcov_sancov_library described;
    uint8_t *flags;  // its own, in whole pages
    size_t bytes;
    size_t offset;   // of its flags in a slot's copy
};

#define STRING(x) #x
#define NAME_OF(x) STRING(x)

int note_object(struct dl_phdr_info *info, size_t, void *argument) {
    auto *objects = static_cast<std::vector<std::pair<std::string, uintptr_t>> *>(argument);
    if (info->dlpi_name[0]) objects->emplace_back(info->dlpi_name, info->dlpi_addr);
    return 0;
}

// The instrumented libraries of this process, in order of their paths; errno and nothing if one cannot be followed.
bool find_libraries(std::vector<Library> *libraries) {
    std::vector<std::pair<std::string, uintptr_t>> objects;
    dl_iterate_phdr(note_object, &objects);
    std::sort(objects.begin(), objects.end());
    size_t first = 0, offset = 0;
    for (const auto &[path, base] : objects) {
        void *handle = dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);  // kept: the library may not be unloaded any more
        if (!handle) continue;
        void *symbol = dlsym(handle, NAME_OF(MEMCOV_SANCOV_SECTIONS));
        Dl_info owner = {};
        const auto *own = static_cast<const memcov_sancov_sections *>(symbol);
        // The search goes on into the libraries that this one needs.
        if (!symbol || !dladdr(symbol, &owner) || owner.dli_fname != path || own->flags == own->flags_end) {
            dlclose(handle);
            continue;
        }
        const size_t n = static_cast<size_t>(own->pcs_end - own->pcs) / 2;
        const size_t bytes = static_cast<size_t>(own->flags_end - own->flags);
        if (reinterpret_cast<uintptr_t>(own->flags) % page || bytes % page || bytes < n || bytes - n >= page) {
            errno = ENOTSUP;
            return false;
        }
        libraries->push_back({path, {nullptr, base, first, n, own->pcs}, own->flags, bytes, offset});
        first += n;
        offset += bytes;
    }
    for (Library &library : *libraries) library.described.path = library.path.c_str();
    errno = ENOENT;
    return !libraries->empty();
}

}  // namespace

struct memcov_sancov {
    std::vector<Library> libraries;
    std::vector<memcov_sancov_library> described;
    std::vector<uint32_t> copy;  // what memcov_sancov_new returned
    size_t n;
    size_t bytes;  // of a slot's flags
    unsigned slots;
    int memfd;
    uint8_t *flags;  // of all slots

    Shared<uint8_t> *counted;
    Shared<uint64_t> *total;
    uint8_t *logs;
    size_t log_bytes;

    unsigned slot;          // of this process
    memcov_sancov *next_entered;

    Log *log(unsigned slot) const { return reinterpret_cast<Log *>(logs + slot * log_bytes); }

    Shared<uint8_t> &flag(unsigned slot, uint32_t edge) const {
        const Library *library = libraries.data();
        while (edge - library->described.first >= library->described.n) ++library;
        return reinterpret_cast<Shared<uint8_t> &>(
            flags[slot * bytes + library->offset + (edge - library->described.first)]);
    }
};

namespace {

memcov_sancov *entered;  // what this process records into

void *map_shared(size_t size) {
    void *memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? nullptr : memory;
}

// Put what the slot's flags show into its log, but for what others have counted meanwhile. A process that is killed in
// here leaves an edge unlogged, and then fresh, or logged twice.
void take_in(const memcov_sancov *cov, unsigned slot) {
    Log *log = cov->log(slot);
    for (const Library &library : cov->libraries) {
        uint8_t *start = cov->flags + slot * cov->bytes + library.offset, *end = start + library.described.n;
        for (uint8_t *at = start; (at = static_cast<uint8_t *>(memchr(at, fresh, static_cast<size_t>(end - at))));) {
            const auto edge = static_cast<uint32_t>(library.described.first + static_cast<size_t>(at - start));
            const uint32_t count = log->count.load();
            if (!cov->counted[edge].load() && count < cov->n) {
                log->entries[count].store(edge);
                log->count.store(count + 1);
            }
            reinterpret_cast<Shared<uint8_t> *>(at)->store(known);
            if (++at == end) break;
        }
    }
}

bool count_edge(memcov_sancov *cov, uint32_t edge) {
    if (cov->counted[edge].exchange(1)) return false;
    cov->total->fetch_add(1);
    return true;
}

memcov_sancov *create(unsigned slots) {
    auto cov = std::make_unique<memcov_sancov>();
    if (!find_libraries(&cov->libraries)) return nullptr;
    for (const Library &library : cov->libraries) cov->described.push_back(library.described);
    cov->slots = slots;
    cov->n = cov->described.back().first + cov->described.back().n;
    cov->bytes = cov->libraries.back().offset + cov->libraries.back().bytes;
    cov->log_bytes = (sizeof(Log) + cov->n * sizeof(uint32_t) + page - 1) & ~(page - 1);
    auto *tables = static_cast<uint8_t *>(map_shared(sizeof(uint64_t) + cov->n));
    cov->logs = static_cast<uint8_t *>(map_shared(cov->log_bytes * slots));
    cov->memfd = memfd_create("memcov", MFD_CLOEXEC);
    if (!tables || !cov->logs || cov->memfd < 0) return nullptr;
    const size_t size = cov->bytes * slots;
    if (ftruncate(cov->memfd, static_cast<off_t>(size)) != 0) return nullptr;
    void *flags = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, cov->memfd, 0);
    if (flags == MAP_FAILED) return nullptr;
    cov->flags = static_cast<uint8_t *>(flags);
    cov->total = reinterpret_cast<Shared<uint64_t> *>(tables);
    cov->counted = reinterpret_cast<Shared<uint8_t> *>(tables + sizeof(uint64_t));
    return cov.release();
}

}  // namespace

extern "C" int memcov_sancov_present(void) {
    std::vector<Library> libraries;
    return find_libraries(&libraries) || errno == ENOTSUP;
}

extern "C" memcov_sancov *memcov_sancov_create(unsigned slots) {
    try {
        if (slots > 0) return create(slots);
        errno = EINVAL;
    } catch (const std::bad_alloc &) {
        errno = ENOMEM;
    }
    return nullptr;
}

extern "C" size_t memcov_sancov_libraries(const memcov_sancov *cov, const memcov_sancov_library **libraries) {
    *libraries = cov->described.data();
    return cov->described.size();
}

extern "C" int memcov_sancov_enter(memcov_sancov *cov, unsigned slot) {
    if (slot >= cov->slots) return -EINVAL;
    for (const Library &library : cov->libraries) {
        const auto offset = static_cast<off_t>(slot * cov->bytes + library.offset);
        if (mmap(library.flags, library.bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, cov->memfd, offset) ==
            MAP_FAILED)
            return -errno;
    }
    cov->slot = slot;
    for (const memcov_sancov *other = entered; other; other = other->next_entered)
        if (other == cov) return 0;
    cov->next_entered = entered;
    entered = cov;
    return 0;
}

extern "C" int memcov_sancov_seal(int seal) {
    const int rights = seal ? PROT_READ : PROT_READ | PROT_WRITE;
    for (const memcov_sancov *cov = entered; cov; cov = cov->next_entered)
        if (mprotect(cov->total, sizeof(uint64_t) + cov->n, rights) != 0 ||
            mprotect(cov->flags, cov->bytes * cov->slots, rights) != 0 ||
            mprotect(cov->logs, cov->log_bytes * cov->slots, rights) != 0)
            return -errno;
    return 0;
}

extern "C" int memcov_sancov_begin(memcov_sancov *cov, unsigned slot) {
    if (slot >= cov->slots) return -EINVAL;
    take_in(cov, slot);
    cov->log(slot)->count.store(0);
    return 0;
}

extern "C" int64_t memcov_sancov_new(memcov_sancov *cov, unsigned slot, const uint32_t **indices) {
    if (slot >= cov->slots) return -EINVAL;
    take_in(cov, slot);
    const Log *log = cov->log(slot);
    const uint32_t count = log->count.load();
    if (indices) {
        try {
            cov->copy.assign(log->entries, log->entries + count);
        } catch (const std::bad_alloc &) {
            return -ENOMEM;
        }
        *indices = cov->copy.data();
    }
    return count;
}

extern "C" int64_t memcov_sancov_commit(memcov_sancov *cov, unsigned slot, size_t from) {
    if (slot >= cov->slots) return -EINVAL;
    take_in(cov, slot);
    const Log *log = cov->log(slot);
    int64_t added = 0;
    for (size_t i = from; i < log->count.load(); ++i) added += count_edge(cov, log->entries[i].load());
    return added;
}

extern "C" int memcov_sancov_rearm(memcov_sancov *cov, unsigned slot, size_t from) {
    if (slot >= cov->slots) return -EINVAL;
    take_in(cov, slot);
    Log *log = cov->log(slot);
    const uint32_t count = log->count.load();
    for (size_t i = from; i < count; ++i) cov->flag(slot, log->entries[i].load()).store(0);
    if (from < count) log->count.store(static_cast<uint32_t>(from));
    return 0;
}

extern "C" int memcov_sancov_restore(memcov_sancov *cov, const uint32_t *indices, size_t n) {
    for (size_t i = 0; i < n; ++i)
        if (indices[i] >= cov->n) return -EINVAL;
    for (size_t i = 0; i < n; ++i) count_edge(cov, indices[i]);
    return 0;
}

extern "C" int memcov_sancov_reset(memcov_sancov *cov) {
    for (unsigned slot = 0; slot < cov->slots; ++slot) cov->log(slot)->count.store(0);
    memset(cov->flags, 0, cov->bytes * cov->slots);
    for (size_t i = 0; i < cov->n; ++i) cov->counted[i].store(0);
    cov->total->store(0);
    return 0;
}

extern "C" int64_t memcov_sancov_total(const memcov_sancov *cov) { return static_cast<int64_t>(cov->total->load()); }

extern "C" const uint8_t *memcov_sancov_counted(const memcov_sancov *cov) {
    return reinterpret_cast<const uint8_t *>(cov->counted);
}
