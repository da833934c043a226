from tvm.script import tirx as T


@T.prim_func(s_tir=True)
def matmul(A: T.Buffer((4, 6), "float32"), B: T.Buffer((6, 5), "float32"), C: T.Buffer((4, 5), "float32")):
    for i, j, k in T.grid(4, 5, 6):
        with T.sblock("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


@T.prim_func(s_tir=True)
def reduction_outermost(A: T.Buffer((3, 8), "int32"), B: T.Buffer((8,), "int32")):
    for k, i in T.grid(3, 8):
        with T.sblock("B"):
            vi = T.axis.spatial(8, i)
            vk = T.axis.reduce(3, k)
            with T.init():
                B[vi] = -100
            B[vi] = T.max(B[vi], A[vk, vi])


@T.prim_func(s_tir=True)
def predicated(A: T.Buffer((10,), "float32"), B: T.Buffer((10,), "float32")):
    for io, ii in T.grid(3, 4):
        with T.sblock("B"):
            vi = T.axis.spatial(10, io * 4 + ii)
            T.where(io * 4 + ii < 10)
            B[vi] = A[vi] * T.float32(2)


@T.prim_func(s_tir=True)
def opaque(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
    for i in range(2):
        with T.sblock("opaque"):
            T.reads(A[i * 4 : i * 4 + 4])
            T.writes(B[i * 4 : i * 4 + 4])
            for j in range(4):
                B[i * 4 + j] = A[i * 4 + 3 - j]


@T.prim_func(s_tir=True)
def nested_blocks(A: T.Buffer((4, 4), "float32"), B: T.Buffer((4, 4), "float32")):
    for i in range(4):
        with T.sblock("row"):
            vi = T.axis.spatial(4, i)
            S = T.sblock_alloc_buffer((4,), "float32")
            for j in range(4):
                with T.sblock("copy"):
                    vj = T.axis.spatial(4, j)
                    S[vj] = A[vi, vj] + T.float32(1)
            for j in range(4):
                with T.sblock("write"):
                    vj = T.axis.spatial(4, j)
                    B[vi, vj] = S[3 - vj]


@T.prim_func(s_tir=True)
def producer_consumer(A: T.Buffer((6, 6), "float32"), C: T.Buffer((4, 4), "float32")):
    B = T.sblock_alloc_buffer((6, 6), "float32")
    for i, j in T.grid(6, 6):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(4, 4):
        with T.sblock("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + B[vi + 1, vj + 1] + B[vi + 2, vj + 2]


@T.prim_func(s_tir=True)
def compactable(A: T.Buffer((8, 4), "float32"), C: T.Buffer((8, 4), "float32")):
    B = T.sblock_alloc_buffer((8, 4), "float32")
    for i in range(8):
        for j in range(4):
            with T.sblock("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] + T.float32(1)
        for j in range(4):
            with T.sblock("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi, 3 - vj]


@T.prim_func(s_tir=True)
def matched_region(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")):
    for i, j in T.grid(2, 2):
        with T.sblock("tile"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi * 4 : vi * 4 + 4, vj * 4 : vj * 4 + 4])
            T.writes(B[vj * 4 : vj * 4 + 4, vi * 4 : vi * 4 + 4])
            S = T.match_buffer(
                A[vi * 4 : vi * 4 + 4, vj * 4 : vj * 4 + 4], (4, 4), "float32", offset_factor=1, strides=[8, 1]
            )
            D = T.match_buffer(
                B[vj * 4 : vj * 4 + 4, vi * 4 : vi * 4 + 4], (4, 4), "float32", offset_factor=1, strides=[8, 1]
            )
            for x, y in T.grid(4, 4):
                D[y, x] = S[x, y]


@T.prim_func(s_tir=True)
def matched_symbolic(A: T.Buffer((6, 8), "int32"), B: T.Buffer((6, 8), "int32")):
    for i in range(3):
        with T.sblock("pair"):
            vi = T.axis.spatial(3, i)
            T.reads(A[vi * 2 : vi * 2 + 2, 0:8])
            T.writes(B[vi * 2 : vi * 2 + 2, 0:8])
            s0 = T.int32()
            s1 = T.int32()
            S = T.match_buffer(A[vi * 2 : vi * 2 + 2, 0:8], (2, 8), "int32", strides=[s0, s1], offset_factor=1)
            for x, y in T.grid(2, 8):
                B[vi * 2 + x, y] = S[1 - x, y]


@T.prim_func(s_tir=True)
def fused_bindings(A: T.Buffer((3, 4), "int64"), B: T.Buffer((4, 3), "int64")):
    for f in range(12):
        with T.sblock("B"):
            vi = T.axis.spatial(3, f // 4)
            vj = T.axis.spatial(4, f % 4)
            B[vj, vi] = A[vi, vj] + T.Cast("int64", vi * 4 + vj)


@T.prim_func(s_tir=True)
def prefix_sum(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
    for i in range(8):
        with T.sblock("scan"):
            vi = T.axis.opaque(8, i)
            T.reads(A[vi], B[0:8])
            T.writes(B[vi])
            B[vi] = A[vi]
            if vi > 0:
                B[vi] = B[vi] + B[vi - 1]


@T.prim_func(s_tir=True)
def argmax(A: T.Buffer((4, 8), "float32"), I: T.Buffer((4,), "int32"), V: T.Buffer((4,), "float32")):
    for i, k in T.grid(4, 8):
        with T.sblock("argmax"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                I[vi] = -1
                V[vi] = T.min_value("float32")
            i_new: T.let[T.int32] = T.Select(V[vi] >= A[vi, vk], I[vi], vk)
            v_new: T.let[T.float32] = T.Select(V[vi] >= A[vi, vk], V[vi], A[vi, vk])
            I[vi] = i_new
            V[vi] = v_new


@T.prim_func(s_tir=True)
def two_stage_sum(A: T.Buffer((16,), "float32"), C: T.Buffer((1,), "float32")):
    P = T.sblock_alloc_buffer((4,), "float32")
    for o, i in T.grid(4, 4):
        with T.sblock("partial"):
            vo, vi = T.axis.remap("SR", [o, i])
            with T.init():
                P[vo] = T.float32(0)
            P[vo] = P[vo] + A[vo * 4 + vi]
    for o in range(4):
        with T.sblock("total"):
            vo = T.axis.reduce(4, o)
            with T.init():
                C[0] = T.float32(0)
            C[0] = C[0] + P[vo]


@T.prim_func(s_tir=True)
def sliding_window(A: T.Buffer((10,), "int32"), C: T.Buffer((8,), "int32")):
    B = T.sblock_alloc_buffer((10,), "int32")
    for i in range(8):
        for k in range(3):
            with T.sblock("B"):
                vi = T.axis.spatial(10, i + k)
                B[vi] = A[vi] * 2
        with T.sblock("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = B[vi] + B[vi + 1] + B[vi + 2]


@T.prim_func(s_tir=True)
def symbolic_predicate(a: T.handle, b: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n,), "float32")
    for io in T.serial((n + T.int64(7)) // T.int64(8)):
        for ii in T.serial(T.int64(8)):
            with T.sblock("B"):
                vi = T.axis.spatial(n, io * T.int64(8) + ii)
                T.where(io * T.int64(8) + ii < n)
                B[vi] = T.exp(A[vi])


@T.prim_func(s_tir=True)
def scheduled_tile(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")):
    for io in T.parallel(4):
        for jo, ii in T.grid(2, 2):
            for ji in T.vectorized(4):
                with T.sblock("B"):
                    vi = T.axis.spatial(8, io * 2 + ii)
                    vj = T.axis.spatial(8, jo * 4 + ji)
                    B[vi, vj] = A[vj, vi] + T.float32(1)


@T.prim_func(s_tir=True)
def padded_conv(
    A: T.Buffer((1, 5, 5), "float32"), W: T.Buffer((2, 1, 3, 3), "float32"), C: T.Buffer((2, 5, 5), "float32")
):
    P = T.sblock_alloc_buffer((1, 7, 7), "float32")
    for c, y, x in T.grid(1, 7, 7):
        with T.sblock("pad"):
            vc, vy, vx = T.axis.remap("SSS", [c, y, x])
            P[vc, vy, vx] = T.if_then_else(
                1 <= vy and vy < 6 and 1 <= vx and vx < 6, A[vc, vy - 1, vx - 1], T.float32(0), dtype="float32"
            )
    for o, y, x, c, ky, kx in T.grid(2, 5, 5, 1, 3, 3):
        with T.sblock("conv"):
            vo, vy, vx, vc, vky, vkx = T.axis.remap("SSSRRR", [o, y, x, c, ky, kx])
            with T.init():
                C[vo, vy, vx] = T.float32(0)
            C[vo, vy, vx] = C[vo, vy, vx] + P[vc, vy + vky, vx + vkx] * W[vo, vc, vky, vkx]
