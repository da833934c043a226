from tvm.script import tirx as T


@T.prim_func
def warp_broadcast(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for bx in T.thread_binding(2, thread="blockIdx.x"):
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            B[bx * 32 + tx] = T.tvm_warp_shuffle(T.tvm_warp_activemask(), A[bx * 32 + tx], 3, 32, 32)


@T.prim_func
def warp_sum(A: T.Buffer((32,), "float32"), B: T.Buffer((1,), "float32")):
    for tx in T.thread_binding(32, thread="threadIdx.x"):
        R = T.alloc_buffer((1,), "float32", scope="local")
        R[0] = A[tx]
        R[0] = R[0] + T.tvm_warp_shuffle_down(T.tvm_warp_activemask(), R[0], 16, 32, 32)
        R[0] = R[0] + T.tvm_warp_shuffle_down(T.tvm_warp_activemask(), R[0], 8, 32, 32)
        R[0] = R[0] + T.tvm_warp_shuffle_up(T.tvm_warp_activemask(), R[0], 4, 32, 32)
        if tx == 0:
            B[0] = R[0]


@T.prim_func
def warp_memory(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for bx in T.thread_binding(2, thread="blockIdx.x"):
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            W = T.alloc_buffer((32,), "float32", scope="warp")
            W[tx] = A[bx * 32 + tx]
            B[bx * 32 + tx] = W[(tx + 4) % 32]


@T.prim_func
def half_vectors(A: T.Buffer((128,), "float16"), B: T.Buffer((128,), "float16")):
    for tx in T.thread_binding(16, thread="threadIdx.x"):
        for v in T.vectorized(8):
            B[tx * 8 + v] = A[tx * 8 + v] * T.float16(2) + T.float16(1)


@T.prim_func
def byte_vectors(A: T.Buffer((64,), "int8"), B: T.Buffer((64,), "int8"), C: T.Buffer((64,), "int32")):
    for tx in T.thread_binding(16, thread="threadIdx.x"):
        for v in T.vectorized(4):
            C[tx * 4 + v] = T.Cast("int32", A[tx * 4 + v]) * T.Cast("int32", B[tx * 4 + v])


@T.prim_func
def bfloat_to_float(A: T.Buffer((64,), "bfloat16"), B: T.Buffer((64,), "float32")):
    for tx in T.thread_binding(32, thread="threadIdx.x"):
        for v in T.vectorized(2):
            B[tx * 2 + v] = T.Cast("float32", A[tx * 2 + v]) + T.float32(1)


@T.prim_func
def float8_copy(A: T.Buffer((64,), "float8_e4m3fn"), B: T.Buffer((64,), "float16")):
    for tx in T.thread_binding(16, thread="threadIdx.x"):
        for v in T.vectorized(4):
            B[tx * 4 + v] = T.Cast("float16", A[tx * 4 + v])


@T.prim_func
def boolean_mask(A: T.Buffer((32,), "bool"), B: T.Buffer((32,), "int32"), C: T.Buffer((32,), "int32")):
    for tx in T.thread_binding(32, thread="threadIdx.x"):
        C[tx] = T.if_then_else(A[tx], B[tx], 0 - B[31 - tx])


@T.prim_func
def two_stages(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for bx in T.thread_binding(4, thread="blockIdx.x"):
        for tx in T.thread_binding(16, thread="threadIdx.x"):
            S = T.alloc_buffer((16,), "float32", scope="shared")
            R = T.alloc_buffer((16,), "float32", scope="shared")
            S[tx] = A[bx * 16 + tx]
            T.evaluate(T.tvm_storage_sync("shared"))
            R[tx] = S[15 - tx] + S[tx]
            T.evaluate(T.tvm_storage_sync("shared"))
            B[bx * 16 + tx] = R[(tx + 1) % 16] * T.float32(2)


@T.prim_func
def dynamic_shared(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")):
    for ty in T.thread_binding(8, thread="threadIdx.y"):
        for tx in T.thread_binding(8, thread="threadIdx.x"):
            S = T.alloc_buffer((8, 9), "float32", scope="shared.dyn")
            S[ty, tx] = A[ty, tx]
            T.evaluate(T.tvm_storage_sync("shared.dyn"))
            B[ty, tx] = S[tx, ty]


@T.prim_func
def tiled_sum(A: T.Buffer((64,), "int32"), B: T.Buffer((16,), "int32")):
    for tx in T.thread_binding(16, thread="threadIdx.x"):
        S = T.alloc_buffer((16,), "int32", scope="shared")
        R = T.alloc_buffer((1,), "int32", scope="local")
        R[0] = 0
        for k in range(4):
            T.evaluate(T.tvm_storage_sync("shared"))
            S[tx] = A[k * 16 + tx]
            T.evaluate(T.tvm_storage_sync("shared"))
            R[0] = R[0] + S[15 - tx]
        B[tx] = R[0]


@T.prim_func(s_tir=True)
def staged_blocks(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
    S = T.sblock_alloc_buffer((32,), "float32", scope="shared")
    L = T.sblock_alloc_buffer((32,), "float32", scope="local")
    for bx in T.thread_binding(2, thread="blockIdx.x"):
        for tx in T.thread_binding(16, thread="threadIdx.x"):
            with T.sblock("to_shared"):
                v = T.axis.spatial(32, bx * 16 + tx)
                S[v] = A[v] * T.float32(2)
        for tx in T.thread_binding(16, thread="threadIdx.x"):
            with T.sblock("to_local"):
                v = T.axis.spatial(32, bx * 16 + tx)
                L[v] = S[v // 16 * 32 + 15 - v]
            with T.sblock("out"):
                v = T.axis.spatial(32, bx * 16 + tx)
                B[v] = L[v] + T.float32(1)


@T.prim_func(s_tir=True)
def pipelined_copies(A: T.Buffer((16, 16), "float32"), B: T.Buffer((16, 16), "float32")):
    for tx in T.thread_binding(16, thread="threadIdx.x"):
        for i in T.serial(
            16,
            annotations={
                "software_pipeline_stage": [0, 1],
                "software_pipeline_order": [0, 1],
                "software_pipeline_async_stages": [0],
            },
        ):
            with T.sblock("body"):
                T.reads(A[tx, i])
                T.writes(B[tx, i])
                S = T.sblock_alloc_buffer((16, 1), "float32", scope="shared")
                with T.sblock("load"):
                    T.reads(A[tx, i])
                    T.writes(S[tx, 0])
                    S[tx, 0] = A[tx, i]
                with T.sblock("use"):
                    T.reads(S[tx, 0])
                    T.writes(B[tx, i])
                    B[tx, i] = S[tx, 0] + T.float32(1)


@T.prim_func
def three_axes(A: T.Buffer((2, 3, 4), "int32"), B: T.Buffer((4, 3, 2), "int32")):
    for bz in T.thread_binding(2, thread="blockIdx.z"):
        for ty in T.thread_binding(3, thread="threadIdx.y"):
            for tx in T.thread_binding(4, thread="threadIdx.x"):
                B[tx, ty, bz] = A[bz, ty, tx] + tx


@T.prim_func
def loop_in_thread(A: T.Buffer((16, 8), "float32"), B: T.Buffer((16,), "float32"), n: T.int32):
    for tx in T.thread_binding(16, thread="threadIdx.x"):
        R = T.alloc_buffer((1,), "float32", scope="local")
        R[0] = T.float32(0)
        for k in range(T.min(T.max(n, 0), 8)):
            R[0] = T.max(R[0], A[tx, k])
        B[tx] = R[0]


@T.prim_func
def math_in_threads(A: T.Buffer((32,), "float32"), H: T.Buffer((32,), "float16"), B: T.Buffer((32,), "float32")):
    for tx in T.thread_binding(32, thread="threadIdx.x"):
        B[tx] = T.exp(A[tx]) + T.tanh(A[tx]) * T.Cast("float32", T.sqrt(T.fabs(H[tx])))


@T.prim_func
def wide_indices(A: T.Buffer((T.int64(64),), "float64"), B: T.Buffer((T.int64(64),), "float64")):
    for bx in T.thread_binding(T.int64(4), thread="blockIdx.x"):
        for tx in T.thread_binding(T.int64(16), thread="threadIdx.x"):
            B[bx * T.int64(16) + tx] = A[T.int64(63) - (bx * T.int64(16) + tx)] / T.float64(2)


@T.prim_func
def tensor_core(A: T.Buffer((256,), "float16"), B: T.Buffer((256,), "float16"), C: T.Buffer((256,), "float32")):
    for tx in T.thread_binding(32, thread="threadIdx.x"):
        a = T.alloc_buffer((256,), "float16", scope="wmma.matrix_a")
        b = T.alloc_buffer((256,), "float16", scope="wmma.matrix_b")
        c = T.alloc_buffer((256,), "float32", scope="wmma.accumulator")
        T.evaluate(T.tvm_fill_fragment(c.data, 16, 16, 16, 0, T.float32(0)))
        T.evaluate(T.tvm_load_matrix_sync(a.data, 16, 16, 16, 0, A.access_ptr("r"), 16, "row_major"))
        T.evaluate(T.tvm_load_matrix_sync(b.data, 16, 16, 16, 0, B.access_ptr("r"), 16, "row_major"))
        T.evaluate(T.tvm_mma_sync(c.data, 0, a.data, 0, b.data, 0, c.data, 0))
        T.evaluate(T.tvm_store_matrix_sync(c.data, 16, 16, 16, 0, C.access_ptr("w"), 16, "row_major"))
