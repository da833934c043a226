// Where the basic blocks of a stripped shared library begin.
//
// Function bounds come from .eh_frame, which every C++ library carries; inside them a linear sweep finds the
// instructions, and so nothing but the first byte of an instruction is ever called a block. A function with a byte
// sequence that the decoder does not know is left out as a whole.
//
// Of some blocks it is certain which one runs next: they fall through into it, or jump there unconditionally, and
// nothing in them can leave for good.
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <new>
#include <stdexcept>
#include <utility>
#include <vector>

#include "memcov.h"
#include "x86.h"

namespace {

struct Malformed : std::runtime_error {
    using std::runtime_error::runtime_error;
};

class File {
  public:
    explicit File(const char *path) {
        const int fd = open(path, O_RDONLY | O_CLOEXEC);
        struct stat st;
        if (fd >= 0 && fstat(fd, &st) == 0) {
            size_ = static_cast<size_t>(st.st_size);
            void *mapping = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, fd, 0);
            if (mapping != MAP_FAILED) data_ = static_cast<const uint8_t *>(mapping);
        }
        error = data_ ? 0 : errno;
        if (fd >= 0) close(fd);
    }
    ~File() {
        if (data_) munmap(const_cast<uint8_t *>(data_), size_);
    }
    File(const File &) = delete;
    File &operator=(const File &) = delete;

    template <class T>
    T at(size_t offset) const {
        if (offset > size_ || size_ - offset < sizeof(T)) throw Malformed("file too short");
        T value;
        memcpy(&value, data_ + offset, sizeof value);
        return value;
    }
    const uint8_t *data() const { return data_; }
    size_t size() const { return size_; }

    int error;

  private:
    const uint8_t *data_ = nullptr;
    size_t size_ = 0;
};

struct Range {
    uint64_t start, end;
};

struct Segment {
    uint64_t start, end;  // file-backed part, as virtual addresses
    const uint8_t *bytes;
    bool executable;

    bool holds(uint64_t address) const { return start <= address && address < end; }
};

// The loaded image of the file.
struct Image {
    std::vector<Segment> segments;
    std::vector<Range> stubs;  // the linker's own code: it has an FDE, and is none of the program
    uint64_t eh_frame_hdr = 0;

    explicit Image(const File &file) {
        const auto header = file.at<Elf64_Ehdr>(0);
        if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
            header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_machine != EM_X86_64)
            throw Malformed("not an x86-64 ELF file");
        for (unsigned i = 0; i < header.e_phnum; ++i) {
            const auto p = file.at<Elf64_Phdr>(header.e_phoff + i * sizeof(Elf64_Phdr));
            if (p.p_type == PT_GNU_EH_FRAME) eh_frame_hdr = p.p_vaddr;
            if (p.p_type != PT_LOAD) continue;
            if (p.p_offset > file.size() || file.size() - p.p_offset < p.p_filesz) throw Malformed("file too short");
            if (p.p_vaddr + p.p_filesz > UINT32_MAX) throw Malformed("addresses beyond 4 GiB");
            segments.push_back({p.p_vaddr, p.p_vaddr + p.p_filesz, file.data() + p.p_offset, (p.p_flags & PF_X) != 0});
        }
        if (!eh_frame_hdr) throw Malformed("no .eh_frame_hdr");
        if (header.e_shstrndx >= header.e_shnum) return;
        const auto names = file.at<Elf64_Shdr>(header.e_shoff + header.e_shstrndx * sizeof(Elf64_Shdr));
        for (unsigned i = 0; i < header.e_shnum; ++i) {
            const auto s = file.at<Elf64_Shdr>(header.e_shoff + i * sizeof(Elf64_Shdr));
            const auto name = file.at<std::array<char, 4>>(names.sh_offset + s.sh_name);
            if (memcmp(name.data(), ".plt", 4) == 0) stubs.push_back({s.sh_addr, s.sh_addr + s.sh_size});
        }
    }

    bool is_stub(uint64_t address) const {
        return std::any_of(stubs.begin(), stubs.end(),
                           [&](const Range &r) { return r.start <= address && address < r.end; });
    }
    const Segment *find(uint64_t address) const {
        for (const Segment &s : segments)
            if (s.holds(address)) return &s;
        return nullptr;
    }
};

// Reads the encodings of DWARF call frame information from an image.
class Cursor {
  public:
    Cursor(const Image &image, uint64_t address) : segment_(image.find(address)), address_(address) {
        if (!segment_) throw Malformed("address outside of the file");
    }

    uint64_t address() const { return address_; }
    void seek(uint64_t address) { address_ = address; }
    bool at_end() const { return address_ + 4 > segment_->end; }

    template <class T>
    T take() {
        if (address_ < segment_->start || address_ > segment_->end || segment_->end - address_ < sizeof(T))
            throw Malformed("read past a segment");
        T value;
        memcpy(&value, segment_->bytes + (address_ - segment_->start), sizeof value);
        address_ += sizeof value;
        return value;
    }
    uint64_t uleb() {
        uint64_t value = 0;
        for (unsigned shift = 0;; shift += 7) {
            const auto byte = take<uint8_t>();
            if (shift < 64) value |= static_cast<uint64_t>(byte & 0x7f) << shift;
            if (!(byte & 0x80)) return value;
        }
    }
    int64_t sleb() {
        uint64_t value = 0;
        for (unsigned shift = 0;;) {
            const auto byte = take<uint8_t>();
            if (shift < 64) value |= static_cast<uint64_t>(byte & 0x7f) << shift;
            shift += 7;
            if (byte & 0x80) continue;
            if (shift < 64 && (byte & 0x40)) value |= ~uint64_t{0} << shift;
            return static_cast<int64_t>(value);
        }
    }
    // A pointer in a DW_EH_PE encoding; 0 stands for "none" in every encoding. Indirect pointers are not followed.
    uint64_t pointer(uint8_t encoding) {
        const uint64_t here = address_;
        uint64_t value;
        switch (encoding & 0x0f) {
            case 0x00: case 0x04: case 0x0c: value = take<uint64_t>(); break;
            case 0x01: value = uleb(); break;
            case 0x02: value = take<uint16_t>(); break;
            case 0x03: value = take<uint32_t>(); break;
            case 0x09: value = static_cast<uint64_t>(sleb()); break;
            case 0x0a: value = static_cast<uint64_t>(int64_t{take<int16_t>()}); break;
            case 0x0b: value = static_cast<uint64_t>(int64_t{take<int32_t>()}); break;
            default: throw Malformed("unknown pointer encoding");
        }
        if (value == 0) return 0;
        switch (encoding & 0x70) {
            case 0x00: return value;
            case 0x10: return value + here;
            default: throw Malformed("unknown pointer base");
        }
    }

  private:
    const Segment *segment_;
    uint64_t address_;
};

constexpr uint8_t omitted = 0xff;

struct Function {
    uint64_t start, end;
    uint64_t lsda;  // 0: none
    const uint8_t *code;
};

struct Augmentation {
    uint8_t pointer = 0, lsda = omitted;
    bool has_data = false;
};

Augmentation read_cie(const Image &image, uint64_t address) {
    Cursor c(image, address);
    c.take<uint32_t>();
    if (c.take<uint32_t>() != 0) throw Malformed("not a CIE");
    const auto version = c.take<uint8_t>();
    char letters[16] = {};
    for (size_t i = 0;; ++i) {
        const auto letter = c.take<char>();
        if (!letter) break;
        if (i + 1 >= sizeof letters) throw Malformed("long augmentation");
        letters[i] = letter;
    }
    c.uleb();
    c.sleb();
    if (version == 1) c.take<uint8_t>();
    else c.uleb();
    Augmentation result;
    if (letters[0] != 'z') return result;
    result.has_data = true;
    c.uleb();
    for (const char *letter = letters + 1; *letter; ++letter) {
        if (*letter == 'R') result.pointer = c.take<uint8_t>();
        else if (*letter == 'L') result.lsda = c.take<uint8_t>();
        else if (*letter == 'P') c.pointer(c.take<uint8_t>() & 0x0f);
        else if (*letter != 'S' && *letter != 'B') break;
    }
    return result;
}

// The functions of the file in the order of .eh_frame, which is that of linking.
std::vector<Function> read_functions(const Image &image) {
    Cursor header(image, image.eh_frame_hdr);
    header.take<uint8_t>();
    const auto encoding = header.take<uint8_t>();
    header.take<uint16_t>();
    // The header's pointers are relative to themselves in every linker's output.
    Cursor c(image, header.pointer(encoding));

    std::vector<Function> functions;
    uint64_t known_cie = 0;
    Augmentation cie;
    while (!c.at_end()) {
        const auto length = c.take<uint32_t>();
        if (length == 0) break;
        if (length == 0xffffffff) throw Malformed("64-bit .eh_frame");
        const uint64_t body = c.address();
        const auto back = c.take<uint32_t>();
        if (back != 0) {
            if (body - back != known_cie) {
                known_cie = body - back;
                cie = read_cie(image, known_cie);
            }
            const uint64_t start = c.pointer(cie.pointer);
            const uint64_t size = c.pointer(cie.pointer & 0x0f);
            uint64_t lsda = 0;
            if (cie.has_data && c.uleb() > 0 && cie.lsda != omitted) lsda = c.pointer(cie.lsda);
            const Segment *s = image.find(start);
            if (s && s->executable && size > 0 && size <= s->end - start && !image.is_stub(start))
                functions.push_back({start, start + size, lsda, s->bytes + (start - s->start)});
        }
        c.seek(body + length);
    }
    return functions;
}

template <class F>
bool sweep(const Function &f, F visit) {
    for (uint64_t at = f.start; at < f.end;) {
        const auto i = x86::decode(f.code + (at - f.start), f.end - at, at);
        if (!i.length) return false;
        visit(at, i);
        at += i.length;
    }
    return true;
}

// How many of the functions, from the first on, belong to the program: up to the last that names one of its sources.
size_t count_own(const Image &image, const std::vector<Function> &functions, const char *prefix) {
    const size_t length = strlen(prefix);
    std::vector<uint64_t> strings;
    for (const Segment &s : image.segments) {
        if (s.executable) continue;
        const uint8_t *end = s.bytes + (s.end - s.start);
        for (const uint8_t *p = s.bytes; (p = static_cast<const uint8_t *>(memmem(p, end - p, prefix, length))); ++p)
            strings.push_back(s.start + (p - s.bytes));
    }
    std::sort(strings.begin(), strings.end());
    if (strings.empty()) return 0;
    for (size_t n = functions.size(); n > 0; --n) {
        bool names = false;
        sweep(functions[n - 1], [&](uint64_t, const x86::Instruction &i) {
            if (i.lea && i.target >= strings.front() && i.target <= strings.back() && !names)
                names = std::binary_search(strings.begin(), strings.end(), i.target);
        });
        if (names) return n;
    }
    return 0;
}

// One byte an address of the executable segments' own part.
class Marks {
  public:
    static constexpr uint8_t boundary = 1, leader = 2;

    Marks(uint64_t start, uint64_t end) : start_(start), size_(end - start) {
        void *mapping = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (mapping == MAP_FAILED) throw std::bad_alloc();
        marks_ = static_cast<uint8_t *>(mapping);
        madvise(marks_, size_, MADV_HUGEPAGE);
    }
    ~Marks() { munmap(marks_, size_); }
    Marks(const Marks &) = delete;
    Marks &operator=(const Marks &) = delete;

    void set(uint64_t address, uint8_t mark) {
        if (address - start_ < size_) marks_[address - start_] |= mark;
    }
    bool is(uint64_t address, uint8_t mark) const {
        return address - start_ < size_ && (marks_[address - start_] & mark) == mark;
    }
    void forget(const Function &f) { memset(marks_ + (f.start - start_), 0, f.end - f.start); }
    const uint8_t *of(const Function &f) const { return marks_ + (f.start - start_); }

  private:
    uint64_t start_;
    size_t size_;
    uint8_t *marks_;
};

// The catch and clean-up blocks of a function.
void mark_landing_pads(const Image &image, const Function &f, Marks &marks) {
    Cursor c(image, f.lsda);
    const auto start_encoding = c.take<uint8_t>();
    const uint64_t base = start_encoding == omitted ? f.start : c.pointer(start_encoding);
    if (c.take<uint8_t>() != omitted) c.uleb();
    const auto encoding = c.take<uint8_t>();
    const uint64_t length = c.uleb();
    const uint64_t end = c.address() + length;
    while (c.address() < end) {
        c.pointer(encoding);
        c.pointer(encoding);
        const uint64_t pad = c.pointer(encoding);
        c.uleb();
        if (pad) marks.set(base + pad, Marks::leader);
    }
}

struct Found {
    std::vector<uint32_t> blocks, successors;
};

// Append the successors of the blocks of `f`; these are found.blocks from `first` on.
void add_successors(const Function &f, size_t first, Found &found) {
    const std::vector<uint32_t> &blocks = found.blocks;
    for (size_t block = first; block < blocks.size(); ++block) {
        const uint64_t end = block + 1 < blocks.size() ? blocks[block + 1] : f.end;
        uint32_t successor = MEMCOV_NO_SUCCESSOR;
        for (uint64_t at = blocks[block];;) {
            if (at >= end) {  // it falls through, and not out of the function
                if (at == end && block + 1 < blocks.size()) successor = static_cast<uint32_t>(block + 1);
                break;
            }
            const auto i = x86::decode(f.code + (at - f.start), f.end - at, at);
            if (!i.length || i.leaves) break;
            if (i.flow == x86::Flow::jump) {
                const auto begin = blocks.begin() + static_cast<ptrdiff_t>(first);
                const auto target = std::lower_bound(begin, blocks.end(), i.target);
                if (target != blocks.end() && *target == i.target && i.target != blocks[block])
                    successor = static_cast<uint32_t>(target - blocks.begin());
            }
            if (i.flow != x86::Flow::next) break;
            at += i.length;
        }
        found.successors.push_back(successor);
    }
}

// The program's own functions by ascending address.
std::vector<Function> own_functions(const Image &image, const char *own_prefix) {
    std::vector<Function> functions = read_functions(image);
    if (own_prefix) functions.resize(count_own(image, functions, own_prefix));
    std::sort(functions.begin(), functions.end(), [](auto &a, auto &b) { return a.start < b.start; });
    // Two descriptions of the same bytes: neither can be trusted to begin on an instruction.
    std::vector<Function> distinct;
    for (const Function &f : functions)
        if (distinct.empty() || f.start >= distinct.back().end) distinct.push_back(f);
    return distinct;
}

uint64_t hash_of(const Function &f) {
    uint64_t hash = 14695981039346656037U;  // FNV-1a
    const auto add = [&hash](uint8_t byte) { hash = (hash ^ byte) * 1099511628211U; };
    uint64_t known = f.start;  // what a byte sequence that is no instruction leaves unread counts as it is
    sweep(f, [&](uint64_t at, const x86::Instruction &i) {
        const bool inside = i.flow != x86::Flow::next && i.target >= f.start && i.target < f.end;
        for (unsigned n = 0; n < i.length; ++n)
            add(i.distance && !inside && n - i.distance < 4 ? 0 : f.code[at - f.start + n]);
        known = at + i.length;
    });
    for (uint64_t at = known; at < f.end; ++at) add(f.code[at - f.start]);
    return hash;
}

Found find_blocks(const File &file, const char *own_prefix) {
    const Image image(file);
    const std::vector<Function> functions = own_functions(image, own_prefix);
    if (functions.empty()) return {};

    Marks marks(functions.front().start, functions.back().end);
    for (const Function &f : functions) {
        bool starts = true;  // the next instruction, padding apart, starts a block
        const bool decoded = sweep(f, [&](uint64_t at, const x86::Instruction &i) {
            marks.set(at, starts && !i.nop ? Marks::boundary | Marks::leader : Marks::boundary);
            starts = starts && i.nop;
            switch (i.flow) {
                case x86::Flow::next:
                    break;
                case x86::Flow::stop:
                    // What follows an indirect jump is nearly always a case of its switch: reading the jump tables
                    // found 40 blocks more among 2.6 million.
                    starts = true;
                    break;
                case x86::Flow::branch:
                case x86::Flow::jump:
                    starts = true;
                    [[fallthrough]];
                case x86::Flow::call:
                    marks.set(i.target, Marks::leader);
            }
        });
        if (!decoded) {
            marks.forget(f);
            continue;
        }
        marks.set(f.start, Marks::leader);
        if (f.lsda) mark_landing_pads(image, f, marks);
    }

    Found found;
    for (const Function &f : functions) {
        const uint8_t *m = marks.of(f);
        const size_t first = found.blocks.size();
        for (uint64_t i = 0; i < f.end - f.start; ++i)
            if (m[i] == (Marks::boundary | Marks::leader)) found.blocks.push_back(static_cast<uint32_t>(f.start + i));
        add_successors(f, first, found);
    }
    return found;
}

template <class T>
T *copy_of(const std::vector<T> &values) {
    auto *copy = static_cast<T *>(malloc(std::max<size_t>(1, values.size()) * sizeof(T)));
    if (copy) memcpy(copy, values.data(), values.size() * sizeof(T));
    return copy;
}

// Hand two arrays of one length over to C; what `make` throws becomes an error number.
template <class Make, class A, class B>
int64_t hand_over(const char *path, Make make, A **first, B **second) {
    try {
        const File file(path);
        if (file.error) return -file.error;
        const auto [a, b] = make(file);
        *first = copy_of(a);
        *second = copy_of(b);
        if (!*first || !*second) {
            free(*first);
            free(*second);
            return -ENOMEM;
        }
        return static_cast<int64_t>(a.size());
    } catch (const Malformed &) {
        return -ENOEXEC;
    } catch (const std::bad_alloc &) {
        return -ENOMEM;
    }
}

}  // namespace

extern "C" int memcov_abi(void) { return MEMCOV_ABI; }

extern "C" void memcov_free(void *pointer) { free(pointer); }

extern "C" int64_t memcov_find_blocks(const char *path, const char *own_prefix, uint32_t **blocks,
                                       uint32_t **successors) {
    return hand_over(path, [&](const File &file) { return find_blocks(file, own_prefix); }, blocks, successors);
}

extern "C" int64_t memcov_find_functions(const char *path, const char *own_prefix, uint32_t **starts,
                                          uint64_t **hashes) {
    const auto find = [&](const File &file) {
        std::pair<std::vector<uint32_t>, std::vector<uint64_t>> found;
        const Image image(file);
        for (const Function &f : own_functions(image, own_prefix)) {
            found.first.push_back(static_cast<uint32_t>(f.start));
            found.second.push_back(hash_of(f));
        }
        return found;
    };
    return hand_over(path, find, starts, hashes);
}
