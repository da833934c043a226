from tvm.script import tirx as T


@T.prim_func
def half_axpy(A: T.Buffer((8,), "float16"), B: T.Buffer((8,), "float16")):
    for i in range(8):
        B[i] = B[i] + A[i] * T.float16(0.5)


@T.prim_func
def half_dot(A: T.Buffer((8,), "float16"), B: T.Buffer((8,), "float16"), C: T.Buffer((1,), "float32")):
    C[0] = T.float32(0)
    for i in range(8):
        C[0] = C[0] + T.Cast("float32", A[i]) * T.Cast("float32", B[i])


@T.prim_func
def bfloat_scale(A: T.Buffer((8,), "bfloat16"), B: T.Buffer((8,), "bfloat16")):
    for i in range(8):
        B[i] = A[i] * T.bfloat16(1.5) + T.bfloat16(0.25)


@T.prim_func
def bfloat_relu(A: T.Buffer((6,), "bfloat16"), B: T.Buffer((6,), "float32")):
    W = T.alloc_buffer((6,), "bfloat16")
    for i in range(6):
        W[i] = T.max(A[i], T.bfloat16(0))
    for i in range(6):
        B[i] = T.Cast("float32", W[i])


@T.prim_func
def bfloat_vector(A: T.Buffer((8,), "bfloat16"), B: T.Buffer((8,), "bfloat16")):
    for i in T.vectorized(8):
        B[i] = A[i] + A[i]


@T.prim_func
def float8_e4m3(A: T.Buffer((8,), "float8_e4m3fn"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        B[i] = T.Cast("float32", A[i]) * T.float32(2)


@T.prim_func
def float8_e5m2(A: T.Buffer((8,), "float8_e5m2"), B: T.Buffer((8,), "float16")):
    for i in range(8):
        B[i] = T.Cast("float16", A[i]) + T.float16(1)


@T.prim_func
def float8_add(A: T.Buffer((8,), "float8_e4m3fn"), B: T.Buffer((8,), "float8_e4m3fn")):
    for i in range(8):
        B[i] = A[i] + B[i]


@T.prim_func
def float8_narrow(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float8_e5m2")):
    for i in range(8):
        B[i] = T.Cast("float8_e5m2", A[i])


@T.prim_func
def unpack_nibbles(A: T.Buffer((4,), "uint8"), B: T.Buffer((8,), "int8")):
    for i in range(8):
        n: T.let[T.int32] = T.bitwise_and(T.shift_right(T.Cast("int32", A[i // 2]), i % 2 * 4), 15)
        B[i] = T.Cast("int8", T.Select(n >= 8, n - 16, n))


@T.prim_func
def int4_cast(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
    for i in range(8):
        B[i] = T.Cast("int32", T.Cast("int4", A[i]))


@T.prim_func
def int8_dot(A: T.Buffer((2, 8), "uint8"), W: T.Buffer((3, 8), "int8"), C: T.Buffer((2, 3), "int32")):
    for i, j in T.grid(2, 3):
        C[i, j] = 0
        for k in range(8):
            C[i, j] = C[i, j] + T.Cast("int32", A[i, k]) * T.Cast("int32", W[j, k])


@T.prim_func
def int8_saturate(A: T.Buffer((8,), "int8"), B: T.Buffer((8,), "int8"), C: T.Buffer((8,), "int8")):
    for i in range(8):
        s: T.let[T.int32] = T.Cast("int32", A[i]) + T.Cast("int32", B[i])
        C[i] = T.Cast("int8", T.max(T.min(s, 127), -128))


@T.prim_func
def int16_average(A: T.Buffer((6,), "int16"), B: T.Buffer((6,), "int16"), C: T.Buffer((6,), "int16")):
    for i in range(6):
        C[i] = T.Cast("int16", T.shift_right(T.Cast("int32", A[i]) + T.Cast("int32", B[i]) + 1, 1))


@T.prim_func
def uint16_swap(A: T.Buffer((6,), "uint16"), B: T.Buffer((6,), "uint16")):
    for i in range(6):
        B[i] = T.bitwise_or(T.shift_left(A[i], T.uint16(8)), T.shift_right(A[i], T.uint16(8)))


@T.prim_func
def uint64_hash(A: T.Buffer((6,), "uint64"), B: T.Buffer((1,), "uint64")):
    B[0] = T.uint64(1469598103934665603)
    for i in range(6):
        B[0] = T.bitwise_xor(B[0], A[i])
        B[0] = T.bitwise_xor(B[0], T.shift_right(B[0], T.uint64(17)))


@T.prim_func
def masked_sum(A: T.Buffer((8,), "float32"), B: T.Buffer((1,), "float32")):
    M = T.alloc_buffer((8,), "bool")
    for i in range(8):
        M[i] = A[i] > T.float32(0)
    B[0] = T.float32(0)
    for i in range(8):
        B[0] = B[0] + T.Select(M[i], A[i], T.float32(0))


@T.prim_func
def mixed_widths(
    A: T.Buffer((4,), "int8"), B: T.Buffer((4,), "uint16"), C: T.Buffer((4,), "int32"), D: T.Buffer((4,), "int64")
):
    for i in range(4):
        D[i] = T.Cast("int64", A[i]) + T.Cast("int64", B[i]) * T.Cast("int64", C[i])


@T.prim_func
def kahan_sum(A: T.Buffer((8,), "float64"), B: T.Buffer((1,), "float64")):
    c: T.float64 = T.float64(0)
    B[0] = T.float64(0)
    for i in range(8):
        y: T.let[T.float64] = A[i] - c
        t: T.let[T.float64] = B[0] + y
        c = t - B[0] - y
        B[0] = t
