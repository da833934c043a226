from tvm.script import tirx as T


@T.prim_func
def elementwise(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for bx in T.thread_binding(4, thread="blockIdx.x"):
        for tx in T.thread_binding(16, thread="threadIdx.x"):
            B[bx * 16 + tx] = A[bx * 16 + tx] * T.float32(2)


@T.prim_func
def guarded(A: T.Buffer((50,), "float32"), B: T.Buffer((50,), "float32")):
    for bx in T.thread_binding(4, thread="blockIdx.x"):
        for tx in T.thread_binding(16, thread="threadIdx.x"):
            if bx * 16 + tx < 50:
                B[bx * 16 + tx] = A[bx * 16 + tx] + T.float32(1)


@T.prim_func(s_tir=True)
def shared_transpose(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")):
    S = T.sblock_alloc_buffer((8, 8), "float32", scope="shared")
    for bx in T.thread_binding(1, thread="blockIdx.x"):
        for ty in T.thread_binding(8, thread="threadIdx.y"):
            for tx in T.thread_binding(8, thread="threadIdx.x"):
                with T.sblock("load"):
                    vi, vj = T.axis.remap("SS", [ty, tx])
                    S[vi, vj] = A[vi, vj]
        for ty in T.thread_binding(8, thread="threadIdx.y"):
            for tx in T.thread_binding(8, thread="threadIdx.x"):
                with T.sblock("store"):
                    vi, vj = T.axis.remap("SS", [ty, tx])
                    B[vi, vj] = S[vj, vi]


@T.prim_func
def explicit_barrier(A: T.Buffer((32,), "int32"), B: T.Buffer((32,), "int32")):
    for bx in T.thread_binding(1, thread="blockIdx.x"):
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            S = T.alloc_buffer((32,), "int32", scope="shared")
            S[tx] = A[tx]
            T.evaluate(T.tvm_storage_sync("shared"))
            B[tx] = S[31 - tx]


@T.prim_func(s_tir=True)
def thread_reduction(A: T.Buffer((4, 32), "float32"), B: T.Buffer((4,), "float32")):
    for i in T.thread_binding(4, thread="blockIdx.x"):
        for k in T.thread_binding(32, thread="threadIdx.x"):
            with T.sblock("B"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    B[vi] = T.float32(0)
                B[vi] = B[vi] + A[vi, vk]


@T.prim_func
def register_tile(A: T.Buffer((16, 4), "float32"), B: T.Buffer((16,), "float32")):
    for tx in T.thread_binding(16, thread="threadIdx.x"):
        R = T.alloc_buffer((4,), "float32", scope="local")
        for j in T.unroll(4):
            R[j] = A[tx, j]
        B[tx] = R[0] + R[1] + R[2] + R[3]


@T.prim_func
def vector_load(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for tx in T.thread_binding(16, thread="threadIdx.x"):
        for v in T.vectorized(4):
            B[tx * 4 + v] = A[tx * 4 + v] + T.float32(1)


@T.prim_func
def virtual_and_real(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for bx in T.thread_binding(2, thread="blockIdx.x"):
        for v in T.thread_binding(2, thread="vthread.x"):
            for tx in T.thread_binding(16, thread="threadIdx.x"):
                B[bx * 32 + v * 16 + tx] = A[bx * 32 + v * 16 + tx] * T.float32(3)


@T.prim_func
def half_kernel(A: T.Buffer((32,), "float16"), B: T.Buffer((32,), "float16")):
    for tx in T.thread_binding(32, thread="threadIdx.x"):
        B[tx] = A[tx] * T.float16(2) + T.float16(1)


@T.prim_func
def symbolic_grid(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n,), "float32")
    for bx in T.thread_binding((n + 31) // 32, thread="blockIdx.x"):
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            if bx * 32 + tx < n:
                B[bx * 32 + tx] = A[bx * 32 + tx]


@T.prim_func
def two_kernels(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32")):
    for tx in T.thread_binding(16, thread="threadIdx.x"):
        B[tx] = A[tx] + T.float32(1)
    for bx in T.thread_binding(16, thread="blockIdx.x"):
        C[bx] = B[15 - bx] * T.float32(2)
