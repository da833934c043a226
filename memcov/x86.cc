#include "x86.h"

#include <string.h>

#include <initializer_list>

#include "memcov.h"

namespace x86 {
namespace {

// What follows an opcode.
enum : uint8_t {
    none = 0,
    modrm = 1,
    imm8 = 2,
    imm16 = 4,
    immz = 8,     // 4 bytes, or 2 under a 66 prefix without REX.W
    special = 16, // decided in decode()
    invalid = 32,
};

struct Maps {
    uint8_t one[256] = {};
    uint8_t two[256] = {};  // behind 0F

    constexpr Maps() {
        for (int op = 0; op < 0x40; op += 8) {  // the eight arithmetic groups
            for (int i = 0; i < 4; ++i) one[op + i] = modrm;
            one[op + 4] = imm8;
            one[op + 5] = immz;
            one[op + 6] = one[op + 7] = invalid;  // prefixes among these never reach the table
        }
        one[0x60] = one[0x61] = invalid;
        one[0x62] = special;  // EVEX
        one[0x63] = modrm;
        one[0x68] = immz;
        one[0x69] = modrm | immz;
        one[0x6a] = imm8;
        one[0x6b] = modrm | imm8;
        for (int op = 0x70; op < 0x80; ++op) one[op] = imm8;
        one[0x80] = modrm | imm8;
        one[0x81] = modrm | immz;
        one[0x82] = invalid;
        one[0x83] = modrm | imm8;
        for (int op = 0x84; op < 0x90; ++op) one[op] = modrm;
        one[0x9a] = invalid;
        for (int op = 0xa0; op < 0xa4; ++op) one[op] = special;  // an absolute address
        one[0xa8] = imm8;
        one[0xa9] = immz;
        for (int op = 0xb0; op < 0xb8; ++op) one[op] = imm8;
        for (int op = 0xb8; op < 0xc0; ++op) one[op] = special;  // mov, with 8 bytes under REX.W
        one[0xc0] = one[0xc1] = modrm | imm8;
        one[0xc2] = imm16;
        one[0xc4] = one[0xc5] = special;  // VEX
        one[0xc6] = modrm | imm8;
        one[0xc7] = modrm | immz;
        one[0xc8] = imm16 | imm8;
        one[0xca] = imm16;
        one[0xcd] = imm8;
        one[0xce] = invalid;
        for (int op = 0xd0; op < 0xd4; ++op) one[op] = modrm;
        one[0xd4] = one[0xd5] = one[0xd6] = invalid;
        for (int op = 0xd8; op < 0xe0; ++op) one[op] = modrm;
        for (int op = 0xe0; op < 0xe8; ++op) one[op] = imm8;
        one[0xe8] = one[0xe9] = special;  // 4 bytes whatever the prefixes
        one[0xea] = invalid;
        one[0xeb] = imm8;
        one[0xf6] = one[0xf7] = special;  // test has an immediate, the rest of the group has none
        one[0xfe] = one[0xff] = modrm;

        for (int op = 0; op < 256; ++op) two[op] = modrm;
        for (int op : {0x04, 0x0a, 0x0c, 0x24, 0x25, 0x26, 0x27, 0x36, 0x39, 0x3b, 0x3c, 0x3d, 0x3e, 0x3f, 0x7a,
                       0x7b, 0xa6, 0xa7})
            two[op] = invalid;
        for (int op : {0x05, 0x06, 0x07, 0x08, 0x09, 0x0b, 0x0e, 0x30, 0x31, 0x32, 0x33, 0x34, 0x35, 0x37, 0x77, 0xa0,
                       0xa1, 0xa2, 0xa8, 0xa9, 0xaa})
            two[op] = none;
        for (int op = 0xc8; op < 0xd0; ++op) two[op] = none;
        for (int op : {0x0f, 0x70, 0x71, 0x72, 0x73, 0xa4, 0xac, 0xba, 0xc2, 0xc4, 0xc5, 0xc6}) two[op] = modrm | imm8;
        for (int op = 0x80; op < 0x90; ++op) two[op] = special;  // 4 bytes whatever the prefixes
        two[0x78] = special;                                     // SSE4a has two immediates
    }
};
constexpr Maps maps;

template <class T>
T read(const uint8_t *p) {
    T value;
    memcpy(&value, p, sizeof value);
    return value;
}

}  // namespace

Instruction decode(const uint8_t *code, size_t size, uint64_t address) {
    uint8_t padded[32];
    if (size < sizeof padded) {  // near the end: behind the last byte nothing may be read
        memset(padded, 0, sizeof padded);
        memcpy(padded, code, size);
        code = padded;
    }
    const size_t limit = size < 15 ? size : 15;
    size_t at = 0;
    bool operand16 = false, address32 = false, rep = false, repne = false;
    uint8_t rex = 0;
    for (;; ++at) {
        if (at >= limit) return {};
        const uint8_t b = code[at];
        if ((b & 0xf0) == 0x40) {
            rex = b;
            continue;
        }
        if (b == 0x66) operand16 = true;
        else if (b == 0x67) address32 = true;
        else if (b == 0xf3) rep = true;
        else if (b == 0xf2) repne = true;
        else if (b != 0x2e && b != 0x36 && b != 0x3e && b != 0x26 && b != 0x64 && b != 0x65 && b != 0xf0) break;
        rex = 0;  // REX counts only right before the opcode
    }

    Instruction result;
    const size_t zsize = operand16 && !(rex & 8) ? 2 : 4;
    uint8_t op = code[at++];
    uint8_t form;
    size_t immediate = 0;
    int map = 0;
    bool branch32 = false;
    if (op == 0xc5 || op == 0xc4 || op == 0x62) {
        if (rex) return {};
        if (op == 0xc5) {
            map = 1;
            at += 1;
        } else if (op == 0xc4) {
            map = code[at] & 0x1f;
            at += 2;
        } else {
            map = code[at] & 7;
            if ((code[at] & 8) || !(code[at + 1] & 4)) return {};
            at += 3;
        }
        if (map == 0 || map == 4 || map > 6 || (op != 0x62 && map > 3)) return {};
        const bool evex = op == 0x62;
        op = code[at++];
        form = modrm;
        if (map == 1) {
            if (op == 0x77 && !evex) form = none;  // vzeroupper
            else if ((op >= 0x70 && op <= 0x73) || op == 0xc2 || (op >= 0xc4 && op <= 0xc6)) form |= imm8;
        } else if (map == 3) {
            form |= imm8;
        }
        map += 8;  // apart from the legacy maps below
    } else if (op == 0x0f) {
        op = code[at++];
        if (op == 0x38) {
            map = 2;
            at++;
            form = modrm;
        } else if (op == 0x3a) {
            map = 3;
            at++;
            form = modrm | imm8;
        } else {
            map = 1;
            form = maps.two[op];
            if (form == special) {
                if (op == 0x78) {
                    form = modrm;
                    if (operand16 || repne) immediate = 2;
                } else {
                    form = none;
                    immediate = 4;
                    branch32 = true;
                }
            }
        }
    } else {
        form = maps.one[op];
        if (form == special) {
            form = none;
            if (op == 0xe8 || op == 0xe9) {
                immediate = 4;
                branch32 = true;
            } else if (op >= 0xa0 && op < 0xa4) {
                immediate = address32 ? 4 : 8;
            } else if (op >= 0xb8 && op < 0xc0) {
                immediate = rex & 8 ? 8 : zsize;
            } else {  // f6, f7
                form = modrm;
                if ((code[at] & 0x38) < 0x10) immediate = op == 0xf6 ? 1 : zsize;
            }
        }
    }
    if (form & invalid) return {};

    uint8_t mod = 0, reg = 0, rm = 0;
    if (form & modrm) {
        const uint8_t byte = code[at++];
        mod = byte >> 6;
        reg = byte >> 3 & 7;
        rm = byte & 7;
        // Control and debug registers ignore mod; the group 8F /1 and up is XOP.
        if (map == 1 && op >= 0x20 && op <= 0x23) mod = 3;
        if (map == 0 && op == 0x8f && reg != 0) return {};
        if (map == 0 && ((op == 0xfe && reg > 1) || (op == 0xff && reg == 7))) return {};
        if (map == 0 && (op == 0xc6 || op == 0xc7) && reg != 0 && byte != 0xf8) return {};
        if (mod != 3) {
            if (rm == 4) {
                const uint8_t sib = code[at++];
                if (mod == 0 && (sib & 7) == 5) at += 4;
            } else if (mod == 0 && rm == 5) {
                if (!address32) result.distance = static_cast<uint8_t>(at);
                at += 4;
            }
            if (mod == 1) at += 1;
            else if (mod == 2) at += 4;
        }
    }
    if (form & imm8) immediate += 1;
    if (form & imm16) immediate += 2;
    if (form & immz) immediate += zsize;
    const size_t operand = at;
    if (branch32) result.distance = static_cast<uint8_t>(at);
    at += immediate;
    if (at > limit) return {};
    result.length = static_cast<uint8_t>(at);

    const uint64_t next = address + at;
    if (map == 0) {
        switch (op) {
            case 0x8d:
                if (mod == 0 && rm == 5 && !address32) {
                    result.lea = true;
                    result.target = next + static_cast<int64_t>(read<int32_t>(code + operand - 4));
                }
                break;
            case 0x90:
                result.nop = !(rex & 1) && !rep;  // not xchg r8, and pause is code
                break;
            case 0xe8:
                result.flow = Flow::call;
                result.leaves = true;
                break;
            case 0xcd: case 0xf1:
                result.leaves = true;
                break;
            case 0xc6: case 0xc7:
                result.leaves = reg == 7;  // xabort, xbegin
                break;
            case 0xe9:
            case 0xeb:
                result.flow = Flow::jump;
                break;
            case 0xe0: case 0xe1: case 0xe2: case 0xe3:
                result.flow = Flow::branch;
                break;
            case 0xc2: case 0xc3: case 0xca: case 0xcb: case 0xcf: case 0xcc: case 0xf4:
                result.flow = Flow::stop;
                break;
            case 0xff:
                if (reg == 4 || reg == 5) result.flow = Flow::stop;  // an indirect jump
                result.leaves = reg == 2 || reg == 3;                // an indirect call
                break;
            default:
                if (op >= 0x70 && op < 0x80) result.flow = Flow::branch;
        }
    } else if (map == 1) {
        if (op == 0x0b) result.flow = Flow::stop;
        else if (op >= 0x80 && op < 0x90) result.flow = Flow::branch;
        else if (op == 0x1f) result.nop = true;
        else if (op == 0x01 || op == 0x05 || op == 0x07 || op == 0x34 || op == 0x35 || op == 0xb9 || op == 0xff)
            result.leaves = true;  // system calls and undefined instructions
    }
    if (result.flow == Flow::call || result.flow == Flow::jump || result.flow == Flow::branch)
        result.target = next + (branch32 ? static_cast<int64_t>(read<int32_t>(code + operand))
                                         : static_cast<int64_t>(read<int8_t>(code + operand)));
    return result;
}

}  // namespace x86

// For the tests: the length of the instruction at `code`, 0 where the decoder knows none.
extern "C" MEMCOV_API int memcov_instruction_length(const uint8_t *code, size_t size) {
    return x86::decode(code, size, 0).length;
}
