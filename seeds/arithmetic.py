from tvm.script import tirx as T


@T.prim_func
def divisions_signed(A: T.Buffer((9,), "int32"), B: T.Buffer((8, 9), "int32")):
    for i in range(9):
        B[0, i] = A[i] // 3
        B[1, i] = A[i] % 3
        B[2, i] = T.truncdiv(A[i], 3)
        B[3, i] = T.truncmod(A[i], 3)
        B[4, i] = A[i] // -4
        B[5, i] = A[i] % -4
        B[6, i] = T.truncdiv(A[i], -4)
        B[7, i] = T.truncmod(A[i], -4)


@T.prim_func
def divisions_power_of_two(A: T.Buffer((8,), "int32"), B: T.Buffer((4, 8), "int32")):
    for i in range(8):
        B[0, i] = A[i] // 8
        B[1, i] = A[i] % 8
        B[2, i] = T.truncdiv(A[i], 16)
        B[3, i] = T.truncmod(A[i], 16)


@T.prim_func
def divisions_unsigned(A: T.Buffer((6,), "uint32"), B: T.Buffer((3, 6), "uint32")):
    for i in range(6):
        B[0, i] = A[i] // T.uint32(7)
        B[1, i] = A[i] % T.uint32(7)
        B[2, i] = T.truncdiv(A[i], T.uint32(16))


@T.prim_func
def division_by_data(A: T.Buffer((6,), "int32"), D: T.Buffer((6,), "int32"), B: T.Buffer((2, 6), "int32")):
    for i in range(6):
        d: T.let[T.int32] = T.bitwise_and(D[i], 7) + 1
        B[0, i] = T.bitwise_and(A[i], 4095) // d
        B[1, i] = T.bitwise_and(A[i], 4095) % d


@T.prim_func
def ceildiv_values(A: T.Buffer((11,), "int32"), B: T.Buffer((11,), "int32")):
    for io in range(T.ceildiv(11, 4)):
        for ii in range(4):
            if io * 4 + ii < 11:
                B[io * 4 + ii] = T.ceildiv(T.bitwise_and(A[io * 4 + ii], 1023), 5)


@T.prim_func
def cancelling_indices(A: T.Buffer((24,), "float32"), B: T.Buffer((24,), "float32")):
    for i in range(4):
        for j in range(6):
            B[(i * 6 + j) // 6 * 6 + (i * 6 + j) % 6] = A[(i * 12 + j * 2) // 2]


@T.prim_func
def min_max_indices(A: T.Buffer((20,), "int32"), B: T.Buffer((20,), "int32")):
    for i in range(20):
        B[i] = A[T.min(T.max(i * 2 - 5, 0), 19)] + T.min(i, 10) - T.max(i - 3, T.min(7, i))


@T.prim_func
def three_way_split(A: T.Buffer((30,), "int32"), B: T.Buffer((30,), "int32")):
    for a in range(2):
        for b in range(3):
            for c in range(5):
                k: T.let[T.int32] = a * 15 + b * 5 + c
                B[k] = A[k % 15 * 2 + k // 15] + k // 5 % 3


@T.prim_func
def reversed_index(A: T.Buffer((3, 4), "int32"), B: T.Buffer((4, 3), "int32")):
    for i in range(3):
        for j in range(4):
            B[3 - j, 2 - i] = A[i, j] - (11 - i * 4 - j)


@T.prim_func
def decidable_comparisons(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
    for i in range(8):
        B[i] = T.Select(i * 2 < 16, A[i], 0 - A[i]) + T.Select(i + 3 == 11, 1, 2) + T.Select(i % 4 >= 4, 5, 7)


@T.prim_func
def wrapping_bytes(A: T.Buffer((8,), "uint8"), B: T.Buffer((8,), "uint8"), C: T.Buffer((3, 8), "uint8")):
    for i in range(8):
        C[0, i] = A[i] + B[i]
        C[1, i] = A[i] - B[i]
        C[2, i] = A[i] * B[i]


@T.prim_func
def large_constants(A: T.Buffer((4,), "int64"), B: T.Buffer((4,), "uint64"), C: T.Buffer((4,), "int32")):
    for i in range(4):
        A[i] = T.int64(9223372036854775807) - T.Cast("int64", i)
        B[i] = T.uint64(4611686018427387904) + T.Cast("uint64", i)
        C[i] = T.int32(-2147483648) + i


@T.prim_func
def float_constants(A: T.Buffer((6,), "float32"), B: T.Buffer((6,), "float64")):
    A[0] = T.float32(1.0e-38)
    A[1] = T.float32(3.0e38)
    A[2] = T.float32(-0.0)
    A[3] = T.infinity("float32")
    A[4] = T.float32(0) - T.infinity("float32")
    A[5] = T.float32(0.1)
    for i in range(6):
        B[i] = T.Cast("float64", A[i]) * T.float64(1.0e-300)


@T.prim_func
def bit_tricks(A: T.Buffer((8,), "uint32"), B: T.Buffer((5, 8), "uint32")):
    for i in range(8):
        s: T.let[T.uint32] = T.Cast("uint32", i)
        B[0, i] = T.bitwise_or(T.shift_left(A[i], T.uint32(3)), T.shift_right(A[i], T.uint32(29)))
        B[1, i] = T.bitwise_xor(A[i], T.shift_right(A[i], s))
        B[2, i] = T.bitwise_and(A[i], T.bitwise_not(A[i]) + T.uint32(1))
        B[3, i] = T.shift_right(A[i], T.uint32(31))
        B[4, i] = T.bitwise_and(T.shift_left(T.uint32(1), s), A[i])


@T.prim_func
def arithmetic_shift(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32"), C: T.Buffer((8,), "int64")):
    for i in range(8):
        B[i] = T.shift_right(A[i], 2)
        C[i] = T.shift_right(T.Cast("int64", A[i]), T.int64(33))


@T.prim_func
def shared_subexpressions(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32"), C: T.Buffer((8,), "int32")):
    for i in range(7):
        B[i] = (A[i] * 3 + A[i + 1]) * (A[i] * 3 + A[i + 1]) + i * 5
        C[i] = (A[i] * 3 + A[i + 1]) - i * 5


@T.prim_func
def let_expressions(A: T.Buffer((6,), "float32"), B: T.Buffer((6,), "float32")):
    for i in range(6):
        x: T.let[T.float32] = A[i] + T.float32(1)
        y: T.let[T.float32] = x * x
        B[i] = y * y - x


@T.prim_func
def cast_chain(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32"), C: T.Buffer((8,), "float32")):
    for i in range(8):
        B[i] = T.Cast("int32", T.Cast("int8", A[i])) + T.Cast("int32", T.Cast("uint8", A[i]))
        C[i] = T.Cast("float32", T.Cast("int16", A[i])) + T.Cast("float32", T.Cast("float16", T.float32(0.1)))


@T.prim_func
def narrowable(A: T.Buffer((T.int64(4), T.int64(6)), "float32"), B: T.Buffer((T.int64(24),), "float32")):
    for i, j in T.grid(T.int64(4), T.int64(6)):
        B[i * T.int64(6) + j] = A[i, j] + T.Cast("float32", i * T.int64(1000) - j)


@T.prim_func
def not_narrowable(A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int64")):
    for i in T.serial(T.int64(4)):
        B[i] = T.Cast("int64", A[i]) * T.int64(2147483647) + i * T.int64(4294967296)


@T.prim_func
def boolean_logic(A: T.Buffer((8,), "bool"), B: T.Buffer((8,), "bool"), C: T.Buffer((8,), "int32")):
    for i in range(8):
        C[i] = T.Cast("int32", A[i] and B[i]) + T.Cast("int32", A[i] or not B[i]) * 2


@T.prim_func
def horner(X: T.Buffer((5,), "float32"), P: T.Buffer((4,), "float32"), B: T.Buffer((5,), "float32")):
    for i in range(5):
        B[i] = P[3]
        for k in T.unroll(3):
            B[i] = B[i] * X[i] + P[2 - k]
