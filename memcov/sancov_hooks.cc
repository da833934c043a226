// What a library instrumented with -fsanitize-coverage=inline-bool-flag,pc-table calls when it is loaded. Linked into
// each such library, together with sancov.ld; memcov finds what is noted here in every library of a process, whether
// that was loaded before memcov or after it. It needs nothing else, so the library runs without memcov too.
#include "sancov_hooks.h"

extern "C" {

// Protected: each library has its own, and its own callbacks fill it, whatever other libraries export.
__attribute__((visibility("protected"))) memcov_sancov_sections MEMCOV_SANCOV_SECTIONS;

// Both are called once for each object file of the library, always with the same arguments.
__attribute__((visibility("hidden"))) void __sanitizer_cov_bool_flag_init(uint8_t *start, uint8_t *stop) {
    MEMCOV_SANCOV_SECTIONS.flags = start;
    MEMCOV_SANCOV_SECTIONS.flags_end = stop;
}

__attribute__((visibility("hidden"))) void __sanitizer_cov_pcs_init(const uintptr_t *start, const uintptr_t *stop) {
    MEMCOV_SANCOV_SECTIONS.pcs = start;
    MEMCOV_SANCOV_SECTIONS.pcs_end = stop;
}
}
