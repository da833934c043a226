# Wrong code in TVM 0.27: PlanAndUpdateBufferAllocationLocation moves C into the loop over i, so that every iteration has its own
# C. But the second iteration reads what the first has stored.
# `tzerlike run docs/bugs/allocation_moved_into_a_loop.py` shows it.
# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def main(A: T.Buffer((2, 3), "float32"), B: T.Buffer((2, 3), "float32")):
    C = T.sblock_alloc_buffer((2, 3))
    for i, j in T.grid(2, 3):
        with T.sblock("c"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj]
        with T.sblock("b"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = C[0, vj]
