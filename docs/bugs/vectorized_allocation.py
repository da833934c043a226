# Wrong code in TVM 0.27 at every optimization level: memory that is allocated inside a vectorized loop belongs to each iteration,
# but the compiled loop has one element for all lanes, and every B[j] is A of the last lane.
# `tzerlike run docs/bugs/vectorized_allocation.py` shows it.
# from tvm.script import tirx as T
@T.prim_func
def main(A: T.Buffer((4,), "float32"), I: T.Buffer((4,), "int32"), B: T.Buffer((4,), "float32")):
    for j in T.vectorized(4):
        t = T.alloc_buffer((1,))
        t[0] = A[I[j] & 3]
        B[j] = t[0]
