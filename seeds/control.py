from tvm.script import tirx as T


@T.prim_func
def while_countdown(A: T.Buffer((8,), "int32")):
    n: T.int32 = 7
    while n >= 0:
        A[n] = n * n
        n = n - 1


@T.prim_func
def while_gcd(A: T.Buffer((2,), "int32"), B: T.Buffer((1,), "int32")):
    x: T.int32 = T.bitwise_and(A[0], 255)
    y: T.int32 = T.bitwise_and(A[1], 255)
    while y != 0:
        r: T.int32 = x % y
        x = y
        y = r
    B[0] = x


@T.prim_func
def while_binary_search(A: T.Buffer((16,), "float32"), V: T.Buffer((1,), "float32"), B: T.Buffer((1,), "int32")):
    lo = T.alloc_buffer((1,), "int32")
    hi = T.alloc_buffer((1,), "int32")
    lo[0] = 0
    hi[0] = 16
    while lo[0] < hi[0]:
        mid: T.let[T.int32] = (lo[0] + hi[0]) // 2
        if A[mid] < V[0]:
            lo[0] = mid + 1
        else:
            hi[0] = mid
    B[0] = lo[0]


@T.prim_func
def break_at_negative(A: T.Buffer((10,), "int32"), B: T.Buffer((10,), "int32")):
    for i in range(10):
        if A[i] < 0:
            break
        B[i] = A[i]


@T.prim_func
def continue_at_odd(A: T.Buffer((10,), "int32"), B: T.Buffer((10,), "int32")):
    for i in range(10):
        B[i] = 0
        if A[i] % 2 == 1:
            continue
        B[i] = A[i] * 3


@T.prim_func
def break_inner(A: T.Buffer((4, 6), "float32"), B: T.Buffer((4,), "int32")):
    for i in range(4):
        B[i] = -1
        for j in range(6):
            if A[i, j] > T.float32(0.5):
                B[i] = j
                break


@T.prim_func
def break_while(A: T.Buffer((8,), "int32"), B: T.Buffer((1,), "int32")):
    i: T.int32 = 0
    while i < 8:
        if A[i] == 0:
            break
        i = i + 1
    B[0] = i


@T.prim_func
def nested_branches(A: T.Buffer((12,), "int32"), B: T.Buffer((12,), "int32")):
    for i in range(12):
        if i % 3 == 0:
            if i < 6:
                B[i] = A[i]
            else:
                B[i] = A[i] + 1
        elif i % 3 == 1:
            B[i] = A[i] * 2
        else:
            B[i] = 0 - A[i]


@T.prim_func
def hoistable(A: T.Buffer((6, 8), "float32"), B: T.Buffer((6, 8), "float32")):
    for i in range(6):
        for j in range(8):
            if i < 3:
                B[i, j] = A[i, j] + T.float32(1)
            else:
                B[i, j] = A[i, j] - T.float32(1)


@T.prim_func
def invariant_data_test(A: T.Buffer((5,), "int32"), F: T.Buffer((1,), "int32"), B: T.Buffer((5,), "int32")):
    for i in range(5):
        if F[0] > 0:
            B[i] = A[i]
        else:
            B[i] = i


@T.prim_func
def stencil_guarded(A: T.Buffer((10,), "float32"), B: T.Buffer((10,), "float32")):
    for i in range(10):
        if i >= 1 and i < 9:
            B[i] = (A[i - 1] + A[i] + A[i + 1]) / T.float32(3)
        else:
            B[i] = A[i]


@T.prim_func
def padded_load(A: T.Buffer((6,), "float32"), B: T.Buffer((10,), "float32")):
    for i in range(10):
        B[i] = T.if_then_else(2 <= i and i < 8, A[i - 2], T.float32(0), dtype="float32")


@T.prim_func
def select_clamped(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
    for i in range(8):
        B[i] = T.Select(A[i] > 0, A[T.min(i + 1, 7)], A[T.max(i - 1, 0)])


@T.prim_func
def select_nested(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        B[i] = T.Select(
            i % 2 == 0,
            T.if_then_else(i < 4, A[i], T.float32(1), dtype="float32"),
            T.Select(A[i] < T.float32(0), T.float32(-1), A[i]),
        )


@T.prim_func
def assert_shape(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n,), "float32")
    assert n >= 1, "at least one element"
    for i in range(n):
        B[i] = A[i]


@T.prim_func
def assume_range(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
    for i in range(8):
        T.evaluate(T.assume(i < 8))
        B[i] = T.if_then_else(i < 8, A[i], 0, dtype="int32")


@T.prim_func
def no_ops(A: T.Buffer((4,), "int32")):
    T.evaluate(0)
    for i in range(4):
        A[i] = A[i]
        T.evaluate(i)
    A[1] = 5


@T.prim_func
def short_circuit(A: T.Buffer((6,), "int32"), B: T.Buffer((6,), "bool")):
    for i in range(6):
        B[i] = (i > 0 and A[T.max(i - 1, 0)] < A[i]) or (not (A[i] == 3) and i == 0)


@T.prim_func
def dead_stores(A: T.Buffer((5,), "int32"), B: T.Buffer((5,), "int32")):
    for i in range(5):
        B[i] = A[i]
        B[i] = A[i]
    for i in range(5):
        B[i] = 1
    for i in range(5):
        B[i] = A[i] + 2


@T.prim_func
def loop_sequence(A: T.Buffer((6,), "float32"), B: T.Buffer((6,), "float32")):
    for i in range(6):
        B[i] = A[i] + T.float32(1)
    for i in range(5):
        B[i] = B[i + 1] * T.float32(2)
    for i in range(6):
        B[5 - i] = B[5 - i] - A[i]


@T.prim_func
def fibonacci(A: T.Buffer((12,), "int64")):
    A[0] = T.int64(0)
    A[1] = T.int64(1)
    for i in range(2, 12):
        A[i] = A[i - 1] + A[i - 2]


@T.prim_func
def histogram(A: T.Buffer((16,), "uint8"), B: T.Buffer((8,), "int32")):
    for i in range(8):
        B[i] = 0
    for i in range(16):
        B[T.Cast("int32", A[i]) % 8] = B[T.Cast("int32", A[i]) % 8] + 1


@T.prim_func
def bubble_sort(A: T.Buffer((7,), "int32")):
    for i in range(7):
        for j in range(6 - i):
            if A[j] > A[j + 1]:
                t: T.let[T.int32] = A[j]
                A[j] = A[j + 1]
                A[j + 1] = t
