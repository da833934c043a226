// Lengths of x86-64 instructions, and where the direct branches among them lead.
//
// A decoder of our own and not capstone, because capstone takes ten times as long, and because an installation then
// needs a C++ compiler and nothing else. Capstone is the judge in tests/unit/memcov; on all 38 million
// instructions of a TVM wheel with LLVM inside the two agreed.
#ifndef MEMCOV_X86_H
#define MEMCOV_X86_H
#include <stddef.h>
#include <stdint.h>

namespace x86 {

enum class Flow : uint8_t {
    next,         // goes on with the next instruction (calls too)
    call,         // a direct call: goes on, and `target` is executed
    branch,       // to `target` or to the next instruction
    jump,         // to `target`
    stop,         // returns, goes to a computed address, or never goes on (ud2, hlt, int3)
};

struct Instruction {
    uint8_t length = 0;       // 0: not an instruction that this decoder knows
    Flow flow = Flow::next;
    bool nop = false;         // padding
    bool leaves = false;      // a call, a system call or an interrupt: what comes next may never run
    bool lea = false;         // a RIP-relative lea: `target` is the address taken
    uint8_t distance = 0;     // where four bytes say how far from here something lies, code or data; 0: nowhere
    uint64_t target = 0;      // of a direct call, branch or jump, or of a lea
};

// Decode the instruction at `code`, of which at most `size` bytes may be read, as if it stood at `address`.
Instruction decode(const uint8_t *code, size_t size, uint64_t address);

}  // namespace x86
#endif
