from tvm.script import tirx as T


@T.prim_func
def ramp_copy(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(4):
        B[T.Ramp(i * 4, 1, 4)] = A[T.Ramp(i * 4, 1, 4)]


@T.prim_func
def broadcast_scale(A: T.Buffer((8,), "float32"), S: T.Buffer((1,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(2):
        B[T.Ramp(i * 4, 1, 4)] = A[T.Ramp(i * 4, 1, 4)] * T.Broadcast(S[0], 4)


@T.prim_func
def ramp_strided(A: T.Buffer((16,), "int32"), B: T.Buffer((8,), "int32")):
    B[T.Ramp(0, 1, 8)] = A[T.Ramp(1, 2, 8)]
    B[T.Ramp(7, -1, 4)] = A[T.Ramp(0, 4, 4)]


@T.prim_func
def shuffle_lanes(A: T.Buffer((8,), "int32"), B: T.Buffer((4,), "int32")):
    B[T.Ramp(0, 1, 4)] = T.Shuffle([A[T.Ramp(0, 1, 4)], A[T.Ramp(4, 1, 4)]], [0, 5, 2, 7])


@T.prim_func
def extract_lane(A: T.Buffer((8,), "float32"), B: T.Buffer((2,), "float32")):
    B[0] = T.Shuffle([A[T.Ramp(0, 1, 8)]], [3])
    B[1] = T.Shuffle([A[T.Ramp(0, 1, 8)]], [6])


@T.prim_func
def vector_select(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    B[T.Ramp(0, 1, 8)] = T.Select(
        A[T.Ramp(0, 1, 8)] > T.Broadcast(T.float32(0), 8), A[T.Ramp(0, 1, 8)], T.Broadcast(T.float32(-1), 8)
    )


@T.prim_func
def vector_cast(A: T.Buffer((8,), "int8"), B: T.Buffer((8,), "float32")):
    B[T.Ramp(0, 1, 8)] = T.Cast("float32x8", T.Cast("int32x8", A[T.Ramp(0, 1, 8)]) * T.Broadcast(3, 8))


@T.prim_func
def vector_index(A: T.Buffer((16,), "int32"), B: T.Buffer((8,), "int32")):
    B[T.Ramp(0, 1, 8)] = A[T.Ramp(0, 1, 8) * T.Broadcast(3, 8) % T.Broadcast(16, 8)]


@T.prim_func
def ramp_value(A: T.Buffer((12,), "int32")):
    for i in range(3):
        A[T.Ramp(i * 4, 1, 4)] = T.Ramp(i * 10, 3, 4)


@T.prim_func
def vector_intrinsics(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    B[T.Ramp(0, 1, 8)] = T.sqrt(T.fabs(A[T.Ramp(0, 1, 8)])) + T.exp(A[T.Ramp(0, 1, 8)])


@T.prim_func
def vector_elements(A: T.Buffer((4,), "float32x4"), B: T.Buffer((4,), "float32x4")):
    for i in range(4):
        B[i] = A[3 - i] + A[i]


@T.prim_func
def vector_clamp(A: T.Buffer((8,), "int16"), B: T.Buffer((8,), "int16")):
    B[T.Ramp(0, 1, 8)] = T.min(T.max(A[T.Ramp(0, 1, 8)], T.Broadcast(T.int16(-5), 8)), T.Broadcast(T.int16(100), 8))


@T.prim_func
def vector_half(A: T.Buffer((4,), "float16"), B: T.Buffer((4,), "float32")):
    B[T.Ramp(0, 1, 4)] = T.Cast("float32x4", A[T.Ramp(0, 1, 4)])


@T.prim_func
def odd_lanes(A: T.Buffer((6,), "int32"), B: T.Buffer((6,), "int32")):
    for i in range(2):
        B[T.Ramp(i * 3, 1, 3)] = A[T.Ramp(3 - i * 3, 1, 3)] + T.Broadcast(i, 3)
