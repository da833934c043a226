from tvm.script import tirx as T


@T.prim_func
def nonzero_min(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(3, 13):
        B[i] = A[i] * T.float32(2)


@T.prim_func
def negative_min(A: T.Buffer((9,), "int32"), B: T.Buffer((9,), "int32")):
    for i in range(-4, 5):
        B[i + 4] = A[i + 4] - i


@T.prim_func
def step_three(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(0, 16, 3):
        B[i] = A[i] + T.float32(1)


@T.prim_func
def step_negative_min(A: T.Buffer((12,), "int32")):
    for i in range(-6, 6, 2):
        A[i + 6] = i


@T.prim_func
def unrolled_inner(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32")):
    for i in range(4):
        for j in T.unroll(8):
            B[i, j] = A[i, j] * A[i, 7 - j]


@T.prim_func
def unrolled_offset(A: T.Buffer((10,), "int64")):
    for i in T.unroll(2, 8):
        A[i] = T.int64(3) * T.Cast("int64", i) - T.int64(i % 3)


@T.prim_func
def vectorized_add(A: T.Buffer((8, 4), "float32"), B: T.Buffer((8, 4), "float32"), C: T.Buffer((8, 4), "float32")):
    for i in range(8):
        for j in T.vectorized(4):
            C[i, j] = A[i, j] + B[i, j]


@T.prim_func
def vectorized_strided(A: T.Buffer((32,), "int32"), B: T.Buffer((8,), "int32")):
    for j in T.vectorized(8):
        B[7 - j] = A[4 * j + 1]


@T.prim_func
def vectorized_branch(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for j in T.vectorized(8):
        if j < 5:
            B[j] = A[j] + T.float32(1)


@T.prim_func
def vectorized_data_branch(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
    for j in T.vectorized(8):
        if A[j] > 3:
            B[j] = A[j]
        else:
            B[j] = 0 - A[j]


@T.prim_func
def vectorized_gather(A: T.Buffer((16,), "float32"), I: T.Buffer((4,), "int32"), B: T.Buffer((4,), "float32")):
    for j in T.vectorized(4):
        B[j] = A[T.bitwise_and(I[j], 15)]


@T.prim_func
def vectorized_outer(A: T.Buffer((4, 3), "float32"), B: T.Buffer((4, 3), "float32")):
    for i in T.vectorized(4):
        for j in range(3):
            B[i, j] = A[i, j] + T.Cast("float32", j)


@T.prim_func
def vectorized_let(A: T.Buffer((16,), "int32"), B: T.Buffer((8,), "int32")):
    for j in T.vectorized(8):
        k: T.let[T.int32] = j * 2 + 1
        B[j] = A[k] + k


@T.prim_func
def parallel_rows(A: T.Buffer((6, 5), "float32"), B: T.Buffer((6, 5), "float32")):
    for i in T.parallel(6):
        for j in range(5):
            B[i, j] = T.max(A[i, j], T.float32(0))


@T.prim_func
def parallel_row_sum(A: T.Buffer((5, 7), "int32"), B: T.Buffer((5,), "int32")):
    for i in T.parallel(5):
        B[i] = 0
        for k in range(7):
            B[i] = B[i] + A[i, k]


@T.prim_func
def extent_one(A: T.Buffer((1, 3, 1), "float32"), B: T.Buffer((1, 3, 1), "float32")):
    for i, j, k in T.grid(1, 3, 1):
        B[i, j, k] = A[i, j, k]


@T.prim_func
def extent_zero(A: T.Buffer((4,), "int32")):
    A[0] = 7
    for i in range(0):
        A[i] = 9


@T.prim_func
def triangular(A: T.Buffer((6, 6), "int32"), B: T.Buffer((6,), "int32")):
    for i in range(6):
        B[i] = 0
        for j in range(i + 1):
            B[i] = B[i] + A[i, j]


@T.prim_func
def upper_triangle(A: T.Buffer((5, 5), "float32")):
    for i in range(5):
        for j in range(i, 5):
            A[i, j] = A[i, j] + A[j, i]


@T.prim_func
def wide_index(A: T.Buffer((T.int64(12),), "float32"), B: T.Buffer((T.int64(12),), "float32")):
    for i in T.serial(T.int64(0), T.int64(12)):
        B[i] = A[T.int64(11) - i]


@T.prim_func
def split_tail(A: T.Buffer((13,), "float32"), B: T.Buffer((13,), "float32")):
    for io, ii in T.grid(4, 4):
        if io * 4 + ii < 13:
            B[io * 4 + ii] = A[io * 4 + ii] + T.float32(1)


@T.prim_func
def fused_index(A: T.Buffer((3, 4, 5), "int32"), B: T.Buffer((60,), "int32")):
    for f in range(60):
        B[f] = A[f // 20, f % 20 // 5, f % 5]


@T.prim_func
def likely_guard(A: T.Buffer((14,), "float32"), B: T.Buffer((14,), "float32")):
    for io in range(4):
        for ii in range(4):
            if T.likely(io * 4 + ii < 14):
                B[io * 4 + ii] = A[io * 4 + ii] * T.float32(3)


@T.prim_func
def symbolic_scale(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n,), "float32")
    for i in range(n):
        B[i] = A[i] * T.float32(2)


@T.prim_func
def symbolic_tiles(a: T.handle, b: T.handle):
    n = T.int64()
    m = T.int64()
    A = T.match_buffer(a, (n, m), "float32")
    B = T.match_buffer(b, (n, m), "float32")
    for i in T.serial(n):
        for jo in T.serial((m + T.int64(3)) // T.int64(4)):
            for ji in T.serial(T.int64(4)):
                if jo * T.int64(4) + ji < m:
                    B[i, jo * T.int64(4) + ji] = A[i, jo * T.int64(4) + ji] + T.float32(1)


@T.prim_func
def symbolic_double(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,), "int32")
    B = T.match_buffer(b, (n * 2,), "int32")
    for i in range(n * 2):
        B[i] = A[i // 2] + i % 2
