from tvm.script import tirx as T


@T.prim_func
def zero_dimensional(A: T.Buffer((), "float32"), B: T.Buffer((4,), "float32"), C: T.Buffer((), "float32")):
    C[()] = A[()] * T.float32(2)
    for i in range(4):
        C[()] = C[()] + B[i]


@T.prim_func
def scratch_reused(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    S = T.alloc_buffer((8,), "float32")
    for i in range(8):
        S[i] = A[i] + T.float32(1)
    for i in range(8):
        B[i] = S[7 - i]
    for i in range(8):
        S[i] = B[i] * B[i]
    for i in range(8):
        B[i] = B[i] + S[i]


@T.prim_func
def disjoint_lifetimes(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    S = T.alloc_buffer((8,), "float32")
    for i in range(8):
        S[i] = A[i] * T.float32(2)
    for i in range(8):
        B[i] = S[i] + T.float32(1)
    R = T.alloc_buffer((8,), "float32")
    for i in range(8):
        R[i] = B[i] * T.float32(3)
    for i in range(8):
        B[i] = R[i] - A[i]


@T.prim_func
def retyped_lifetimes(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
    S = T.alloc_buffer((16,), "int8")
    for i in range(16):
        S[i] = T.Cast("int8", A[i // 2])
    for i in range(8):
        B[i] = T.Cast("int32", S[2 * i])
    R = T.alloc_buffer((4,), "float64")
    for i in range(4):
        R[i] = T.Cast("float64", B[i])
    for i in range(4):
        B[i] = T.Cast("int32", R[3 - i])


@T.prim_func
def local_scratch(A: T.Buffer((4, 4), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        S = T.alloc_buffer((4,), "float32", scope="local")
        for j in range(4):
            S[j] = A[i, j] * A[j, i]
        B[i] = S[0] + S[1] + S[2] + S[3]


@T.prim_func
def inplace_chain(A: T.Buffer((6,), "float32"), D: T.Buffer((6,), "float32")):
    B = T.alloc_buffer((6,), "float32")
    C = T.alloc_buffer((6,), "float32")
    for i in range(6):
        B[i] = A[i] + T.float32(1)
    for i in range(6):
        C[i] = B[i] * T.float32(2)
    for i in range(6):
        D[i] = C[i] - T.float32(3)


@T.prim_func
def strided_parameter(a: T.handle, b: T.handle):
    A = T.match_buffer(a, (3, 4), "float32", strides=[8, 1])
    B = T.match_buffer(b, (3, 4), "float32")
    for i, j in T.grid(3, 4):
        B[i, j] = A[i, j] + T.float32(1)


@T.prim_func
def symbolic_strides(a: T.handle, b: T.handle):
    s = T.int32()
    A = T.match_buffer(a, (3, 4), "int32", strides=[s, 1])
    B = T.match_buffer(b, (3, 4), "int32")
    for i, j in T.grid(3, 4):
        B[i, j] = A[i, j] * 2


@T.prim_func
def element_offset(a: T.handle, b: T.handle):
    o = T.int32()
    A = T.match_buffer(a, (8,), "float32", elem_offset=o, offset_factor=1)
    B = T.match_buffer(b, (8,), "float32")
    for i in range(8):
        B[i] = A[i] - T.float32(1)


@T.prim_func
def flat_view(A: T.Buffer((3, 4), "float32"), B: T.Buffer((12,), "float32")):
    F = T.decl_buffer((12,), "float32", data=A.data)
    for i in range(12):
        B[i] = F[i] * T.float32(2)


@T.prim_func
def retyped_view(A: T.Buffer((6,), "float32"), B: T.Buffer((6,), "int32")):
    I = T.decl_buffer((6,), "int32", data=A.data)
    for i in range(6):
        B[i] = T.bitwise_xor(I[i], -2147483648)


@T.prim_func
def strided_view(A: T.Buffer((4, 4), "int32"), B: T.Buffer((4,), "int32")):
    S = T.alloc_buffer((16,), "int32")
    D = T.decl_buffer((4,), "int32", data=S.data, strides=[5])
    for i in range(16):
        S[i] = A[i // 4, i % 4]
    for i in range(4):
        B[i] = D[i]


@T.prim_func
def offset_view(A: T.Buffer((8,), "float32"), B: T.Buffer((4,), "float32")):
    H = T.decl_buffer((4,), "float32", data=A.data, elem_offset=4)
    for i in range(4):
        B[i] = H[i] + A[i]


@T.prim_func
def symbolic_scratch(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n,), "float32")
    S = T.alloc_buffer((n,), "float32")
    for i in range(n):
        S[i] = A[i] + T.float32(1)
    for i in range(n):
        B[i] = S[n - 1 - i]


@T.prim_func
def many_buffers(
    A: T.Buffer((2,), "float32"),
    B: T.Buffer((2, 3), "float32"),
    C: T.Buffer((2, 3, 2), "float32"),
    D: T.Buffer((3,), "float32"),
    E: T.Buffer((2, 2), "float32"),
    F: T.Buffer((1,), "float32"),
):
    for i, j, k in T.grid(2, 3, 2):
        C[i, j, k] = A[i] * B[i, j] + D[j] * E[i, k] + F[0]


@T.prim_func
def six_dimensions(A: T.Buffer((2, 1, 2, 1, 2, 3), "int32"), B: T.Buffer((24,), "int32")):
    for a, b, c, d in T.grid(2, 2, 2, 3):
        B[a * 12 + b * 6 + c * 3 + d] = A[a, 0, b, 0, c, d]


@T.prim_func
def in_place(A: T.Buffer((8,), "int32")):
    for i in range(7):
        A[i + 1] = T.bitwise_xor(A[i + 1], A[i])


@T.prim_func
def scalar_parameters(k: T.int32, f: T.float32, A: T.Buffer((6,), "float32"), B: T.Buffer((6,), "float32")):
    for i in range(6):
        B[i] = A[i] * f + T.Cast("float32", k)


@T.prim_func
def bounded_by_parameter(k: T.int32, A: T.Buffer((16,), "int32")):
    for i in range(T.min(T.max(k, 0), 16)):
        A[i] = k - i


@T.prim_func
def chosen_by_parameter(k: T.int64, A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        if k > T.int64(0):
            B[i] = A[i]
        else:
            B[i] = T.Select(k == T.int64(0), T.float32(0), T.float32(0) - A[i])
