// The arithmetic of docs/tir-semantics.md in C. What has no meaning ends the process with the name of the rule.
#define _GNU_SOURCE
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

typedef __int128 wide;
typedef struct { void *at; } memory;
typedef struct { void (*run)(void **); int buffers; } program;

static char rule_file[64];
static int backwards;  // the second run: other garbage in fresh memory, loops without an order the other way round

#define OURS __attribute__((unused)) static

static void say(const char *word, const char *what) {
  FILE *file = fopen(rule_file, "w");
  fprintf(file, "%s %s", word, what);
  fclose(file);
  _exit(3);
}
static int declaring;  // a declared region is being evaluated: without a value it holds nothing
static jmp_buf no_value;
static void undefined(const char *rule) {
  if (declaring) longjmp(no_value, 1);
  say("undefined", rule);
}
static void unknown(const char *what) { say("unknown", what); }

// Memory that nobody has written holds one of two patterns.
OURS void *fresh(memory *cell, wide elements, size_t size) {
  if (elements < 0) undefined("negative-extent");
  if (elements * size > (1 << 28)) unknown("memory");
  free(cell->at);
  cell->at = malloc((size_t)elements * size);
  memset(cell->at, backwards ? 0x7f : 0, (size_t)elements * size);
  return cell->at;
}
OURS int64_t extent_of(wide n) {
  if (n < 0) undefined("negative-extent");
  return (int64_t)n;
}
OURS int64_t at(wide i, int64_t extent) {
  if (i < 0 || i >= extent) undefined("out-of-bounds");
  return (int64_t)i;
}

static uint64_t mask(int width) { return ~0ULL >> (64 - width); }
static int64_t extended(int width, uint64_t a) { return (int64_t)(a << (64 - width)) >> (64 - width); }

#define INTEGER(S, T, BITS, LEAST, GREATEST, LOW, BEYOND) \
  OURS T fit_##S(wide v, const char *rule) { if (v < (wide)LEAST || v > (wide)GREATEST) undefined(rule); return (T)v; } \
  OURS T add_##S(T a, T b) { T r; if (__builtin_add_overflow(a, b, &r)) undefined("integer-overflow"); return fit_##S(r, "integer-overflow"); } \
  OURS T sub_##S(T a, T b) { T r; if (__builtin_sub_overflow(a, b, &r)) undefined("integer-overflow"); return fit_##S(r, "integer-overflow"); } \
  OURS T mul_##S(T a, T b) { T r; if (__builtin_mul_overflow(a, b, &r)) undefined("integer-overflow"); return fit_##S(r, "integer-overflow"); } \
  OURS T div_##S(T a, T b) { if (b == 0) undefined("division-by-zero"); return fit_##S((wide)a / (wide)b, "integer-overflow"); } \
  OURS T mod_##S(T a, T b) { div_##S(a, b); return (T)((wide)a % (wide)b); } \
  OURS T floordiv_##S(T a, T b) { \
    div_##S(a, b); \
    wide q = (wide)a / b, r = (wide)a % b; \
    return (T)(r != 0 && (r < 0) != ((wide)b < 0) ? q - 1 : q); } \
  OURS T floormod_##S(T a, T b) { \
    div_##S(a, b); \
    wide r = (wide)a % b; \
    return (T)(r != 0 && (r < 0) != ((wide)b < 0) ? r + b : r); } \
  OURS T shl_##S(T a, T b) { \
    if (b < 0 || b >= BITS) undefined("shift-range"); \
    T r; if (__builtin_mul_overflow(a, (wide)1 << b, &r)) undefined("integer-overflow"); \
    return fit_##S(r, "integer-overflow"); } \
  OURS T shr_##S(T a, T b) { if (b < 0 || b >= BITS) undefined("shift-range"); return (T)(a >> b); } \
  OURS T min_##S(T a, T b) { return a < b ? a : b; } \
  OURS T max_##S(T a, T b) { return a > b ? a : b; } \
  OURS T and_##S(T a, T b) { return (T)(a & b); } \
  OURS T or_##S(T a, T b) { return (T)(a | b); } \
  OURS T xor_##S(T a, T b) { return (T)(a ^ b); } \
  OURS T trunc_##S(double a) { \
    double t = trunc(a); \
    if (!(t >= LOW && t < BEYOND)) undefined("cast-range"); \
    return (T)t; } \
  OURS uint64_t bits_##S(T a) { return (uint64_t)a & mask(BITS); } \
  OURS T of_bits_##S(uint64_t a) { return LEAST < 0 ? (T)extended(BITS, a) : (T)(a & mask(BITS)); } \
  OURS T not_##S(T a) { return of_bits_##S(~bits_##S(a)); } \
  OURS T load_##S(T a) { return a; } \
  OURS T store_##S(T a) { return a; } \
  OURS int32_t popcount_##S(T a) { return __builtin_popcountll(bits_##S(a)); } \
  OURS int32_t clz_##S(T a) { if (a == 0) undefined("intrinsic-domain"); return __builtin_clzll(bits_##S(a)) - (64 - BITS); }

INTEGER(i1, int8_t, 1, -1, 0, -1.0, 1.0)
INTEGER(i4, int8_t, 4, -8, 7, -8.0, 8.0)
INTEGER(i8, int8_t, 8, INT8_MIN, INT8_MAX, -0x1p7, 0x1p7)
INTEGER(i16, int16_t, 16, INT16_MIN, INT16_MAX, -0x1p15, 0x1p15)
INTEGER(i32, int32_t, 32, INT32_MIN, INT32_MAX, -0x1p31, 0x1p31)
INTEGER(i64, int64_t, 64, INT64_MIN, INT64_MAX, -0x1p63, 0x1p63)
INTEGER(u1, uint8_t, 1, 0, 1, 0.0, 2.0)
INTEGER(u4, uint8_t, 4, 0, 15, 0.0, 16.0)
INTEGER(u8, uint8_t, 8, 0, UINT8_MAX, 0.0, 0x1p8)
INTEGER(u16, uint16_t, 16, 0, UINT16_MAX, 0.0, 0x1p16)
INTEGER(u32, uint32_t, 32, 0, UINT32_MAX, 0.0, 0x1p32)
INTEGER(u64, uint64_t, 64, 0, UINT64_MAX, 0.0, 0x1p64)

#define and_b1(a, b) ((uint8_t)((a) & (b)))
#define or_b1(a, b) ((uint8_t)((a) | (b)))
#define xor_b1(a, b) ((uint8_t)((a) ^ (b)))
#define load_b1(a) ((uint8_t)((a) != 0))
#define store_b1(a) ((uint8_t)((a) != 0))
#define bits_b1(a) ((uint64_t)(a))

// Floats: what is computed is finite, and rounded as its dtype is; bfloat16 only where it is stored. A constant may be
// infinite: it can be stored, loaded, chosen and compared.
OURS double number_f64(double a) { if (isnan(a)) undefined("exceptional-value"); return a; }
OURS double finite_f64(double a) { if (!isfinite(a)) undefined("exceptional-value"); return a; }
OURS float finite_f32(double a) { return (float)finite_f64((float)a); }
OURS float finite_f16(double a) { return (float)finite_f64((float)(_Float16)a); }
OURS float finite_bf16(double a) { return finite_f32(a); }

OURS uint64_t bits_f64(double a) { uint64_t u; memcpy(&u, &a, 8); return u; }
OURS uint64_t bits_f32(float a) { uint32_t u; memcpy(&u, &a, 4); return u; }
OURS uint64_t bits_f16(float a) { _Float16 h = (_Float16)a; uint16_t u; memcpy(&u, &h, 2); return u; }
OURS uint64_t bits_bf16(float a) {
  uint64_t u = bits_f32(a);
  return (u + 0x7fff + (u >> 16 & 1)) >> 16;
}
OURS double of_bits_f64(uint64_t u) { double a; memcpy(&a, &u, 8); return finite_f64(a); }
OURS float of_bits_f32(uint64_t u) { uint32_t v = (uint32_t)u; float a; memcpy(&a, &v, 4); return finite_f32(a); }
OURS float of_bits_f16(uint64_t u) { uint16_t v = (uint16_t)u; _Float16 h; memcpy(&h, &v, 2); return finite_f16((float)h); }
OURS float of_bits_bf16(uint64_t u) { return of_bits_f32(u << 16); }

#define load_f64 number_f64
#define load_f32 (float)number_f64
OURS float load_f16(uint16_t u) { _Float16 h; memcpy(&h, &u, 2); return (float)number_f64((float)h); }
OURS float load_bf16(uint16_t u) { uint32_t v = (uint32_t)u << 16; float a; memcpy(&a, &v, 4); return (float)number_f64(a); }
#define store_f64(a) (a)
#define store_f32(a) (a)
#define store_f16(a) ((uint16_t)bits_f16(a))
OURS uint16_t store_bf16(float a) { if (!isinf(a)) of_bits_bf16(bits_bf16(a)); return (uint16_t)bits_bf16(a); }

#define FLOATING(S, T) \
  OURS T add_##S(T a, T b) { return finite_##S(a + b); } \
  OURS T sub_##S(T a, T b) { return finite_##S(a - b); } \
  OURS T mul_##S(T a, T b) { return finite_##S(a * b); } \
  OURS T div_##S(T a, T b) { if (b == 0) undefined("exceptional-value"); return finite_##S(a / b); } \
  OURS T min_##S(T a, T b) { return a < b ? a : b; } \
  OURS T max_##S(T a, T b) { return a > b ? a : b; }
FLOATING(f16, float)
FLOATING(bf16, float)
FLOATING(f32, float)
FLOATING(f64, double)

// LLVM's intrinsics on patterns of so many bits.
OURS uint64_t llvm_bswap(int width, uint64_t a) { return __builtin_bswap64(a) >> (64 - width); }
OURS uint64_t llvm_bitreverse(int width, uint64_t a) {
  uint64_t r = 0;
  for (int i = 0; i < width; i++) r |= (a >> i & 1) << (width - 1 - i);
  return r;
}
OURS uint64_t llvm_cttz(int width, uint64_t a, int zero_is_poison) {
  if (a == 0 && zero_is_poison) undefined("intrinsic-domain");
  return a ? (uint64_t)__builtin_ctzll(a) : (uint64_t)width;
}
OURS uint64_t llvm_fshl(int width, uint64_t a, uint64_t b, uint64_t by) {
  int n = (int)(by % (uint64_t)width);
  return n ? (a << n | b >> (width - n)) & mask(width) : a;
}
OURS uint64_t llvm_smax(int width, uint64_t a, uint64_t b) { return extended(width, a) > extended(width, b) ? a : b; }
OURS uint64_t llvm_umin(int width, uint64_t a, uint64_t b) { return a < b ? a : b; }
OURS uint64_t llvm_sadd_sat(int width, uint64_t a, uint64_t b) {
  wide sum = (wide)extended(width, a) + extended(width, b), most = (wide)(mask(width) >> 1);
  return (uint64_t)(sum > most ? most : sum < -most - 1 ? -most - 1 : sum) & mask(width);
}
OURS uint64_t llvm_uadd_sat(int width, uint64_t a, uint64_t b) {
  wide sum = (wide)a + b, most = mask(width);
  return (uint64_t)(sum > most ? most : sum);
}
OURS uint64_t llvm_abs(int width, uint64_t a) {
  int64_t value = extended(width, a);
  if (value < 0 && a == mask(width) / 2 + 1) undefined("integer-overflow");
  return (uint64_t)(value < 0 ? -value : value);
}

OURS int32_t q_multiply_shift(int32_t x, int32_t y, int32_t q, int32_t s) {
  int total = s - q;
  if (total > 30 || total < -90) unknown("shift of q_multiply_shift");
  wide product = (wide)x * y;
  product = total >= 0 ? product * ((wide)1 << total) : (product + ((wide)1 << (-total - 1))) >> -total;
  return fit_i32(product, "intrinsic-domain");
}
