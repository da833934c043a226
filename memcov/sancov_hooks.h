/* What an instrumented library says of itself, by the exported symbol of this name. */
#ifndef MEMCOV_SANCOV_HOOKS_H
#define MEMCOV_SANCOV_HOOKS_H
#include <stdint.h>

#define MEMCOV_SANCOV_SECTIONS memcov_sancov_sections_1

typedef struct {
    uint8_t *flags, *flags_end;      /* a byte an edge, padded to whole pages by sancov.ld */
    const uintptr_t *pcs, *pcs_end;  /* two words an edge: its address; 1 where a function begins */
} memcov_sancov_sections;

#endif
