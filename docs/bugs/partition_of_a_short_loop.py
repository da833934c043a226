# Wrong code in TVM 0.27: LoopPartition cuts the loop at 6, where the condition begins to hold, even if n is less than that: the
# first part then still runs to 6, and writes past the end of B.
# `tzerlike run docs/bugs/partition_of_a_short_loop.py` shows it.
# from tvm.script import tirx as T
@T.prim_func
def main(B: T.Buffer(("n",), "float32")):
    n = T.int32()
    for i in T.serial(n, annotations={"pragma_loop_partition_hint": True}):
        B[i] = T.if_then_else(i >= 6, T.float32(1), T.float32(2))
