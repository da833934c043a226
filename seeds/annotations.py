from tvm.script import tirx as T


@T.prim_func(s_tir=True)
def pragma_unroll(A: T.Buffer((4, 4), "float32"), B: T.Buffer((4, 4), "float32")):
    for i in T.serial(4, annotations={"pragma_auto_unroll_max_step": 16, "pragma_unroll_explicit": True}):
        for j in range(4):
            with T.sblock("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] + T.float32(1)


@T.prim_func
def attr_unroll(A: T.Buffer((8,), "int32")):
    with T.attr(T.int32(0), "pragma_auto_unroll_max_step", 8):
        with T.attr(T.int32(0), "pragma_unroll_explicit", 1):
            for i in range(8):
                A[i] = A[i] * 2 + i


@T.prim_func(s_tir=True)
def software_pipeline(A: T.Buffer((8, 4), "float32"), C: T.Buffer((8, 4), "float32")):
    for i in T.serial(8, annotations={"software_pipeline_stage": [0, 1], "software_pipeline_order": [0, 1]}):
        with T.sblock("step"):
            vi = T.axis.spatial(8, i)
            T.reads(A[vi, 0:4])
            T.writes(C[vi, 0:4])
            B = T.sblock_alloc_buffer((1, 4), "float32")
            with T.sblock("load"):
                T.reads(A[vi, 0:4])
                T.writes(B[0, 0:4])
                for j in range(4):
                    B[0, j] = A[vi, j] * T.float32(2)
            with T.sblock("store"):
                T.reads(B[0, 0:4])
                T.writes(C[vi, 0:4])
                for j in range(4):
                    C[vi, j] = B[0, j] + T.float32(1)


@T.prim_func(s_tir=True)
def software_pipeline_three(A: T.Buffer((6,), "float32"), D: T.Buffer((6,), "float32")):
    for i in T.serial(6, annotations={"software_pipeline_stage": [0, 1, 2], "software_pipeline_order": [2, 1, 0]}):
        with T.sblock("step"):
            vi = T.axis.spatial(6, i)
            T.reads(A[vi])
            T.writes(D[vi])
            B = T.sblock_alloc_buffer((1,), "float32")
            C = T.sblock_alloc_buffer((1,), "float32")
            with T.sblock("first"):
                T.reads(A[vi])
                T.writes(B[0])
                B[0] = A[vi] + T.float32(1)
            with T.sblock("second"):
                T.reads(B[0])
                T.writes(C[0])
                C[0] = B[0] * T.float32(2)
            with T.sblock("third"):
                T.reads(C[0])
                T.writes(D[vi])
                D[vi] = C[0] - T.float32(3)


@T.prim_func(s_tir=True)
def double_buffer(A: T.Buffer((8, 4), "float32"), C: T.Buffer((8, 4), "float32")):
    for i in range(8):
        with T.sblock("row"):
            vi = T.axis.spatial(8, i)
            B = T.sblock_alloc_buffer((4,), "float32")
            with T.sblock("stage"):
                T.reads(A[vi, 0:4])
                T.writes(B[0:4])
                T.sblock_attr({"double_buffer_scope": 0})
                for j in range(4):
                    B[j] = A[vi, j]
            for j in range(4):
                with T.sblock("use"):
                    vj = T.axis.spatial(4, j)
                    C[vi, vj] = B[vj] * T.float32(2)


@T.prim_func(s_tir=True)
def partition_hint(A: T.Buffer((12,), "float32"), B: T.Buffer((12,), "float32")):
    for i in T.serial(12, annotations={"pragma_loop_partition_hint": True}):
        with T.sblock("B"):
            vi = T.axis.spatial(12, i)
            B[vi] = T.if_then_else(3 <= vi and vi < 9, A[vi - 3], T.float32(0), dtype="float32")


@T.prim_func
def virtual_threads(A: T.Buffer((2, 8), "float32"), B: T.Buffer((2, 8), "float32")):
    for v in T.thread_binding(2, thread="vthread.x"):
        S = T.alloc_buffer((8,), "float32", scope="local")
        for i in range(8):
            S[i] = A[v, i] * T.float32(2)
        for i in range(8):
            B[v, i] = S[7 - i]


@T.prim_func
def nested_virtual_threads(A: T.Buffer((2, 2, 4), "int32"), B: T.Buffer((2, 2, 4), "int32")):
    for x in T.thread_binding(2, thread="vthread.x"):
        for y in T.thread_binding(2, thread="vthread.y"):
            for i in range(4):
                B[x, y, i] = A[y, x, i] + x * 10 + y


@T.prim_func(s_tir=True)
def aligned_storage(A: T.Buffer((4, 6), "float32"), C: T.Buffer((4, 6), "float32")):
    B = T.sblock_alloc_buffer((4, 6), "float32")
    for i, j in T.grid(4, 6):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.sblock_attr({"buffer_dim_align": [[0, 0, 8, 3]]})
            B[vi, vj] = A[vi, vj] + T.float32(1)
    for i, j in T.grid(4, 6):
        with T.sblock("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[3 - vi, vj]


@T.prim_func
def unknown_attribute(A: T.Buffer((6,), "float32")):
    with T.attr(T.int32(0), "pragma_unknown_hint", 3):
        for i in range(6):
            A[i] = A[i] * T.float32(0.5)


@T.prim_func
def noalias(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    T.func_attr({"tirx.noalias": True})
    for i in range(8):
        B[i] = A[i] + B[i]


@T.prim_func
def disabled_unroll(A: T.Buffer((4, 4), "int32")):
    for i in T.serial(4, unroll=False):
        for j in T.serial(4, unroll=True):
            A[i, j] = A[i, j] + i - j
