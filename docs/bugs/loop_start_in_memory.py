# Wrong code in TVM 0.27: the start of a loop is read again in every iteration, after the loop has changed it.
# `tzerlike run docs/bugs/loop_start_in_memory.py` shows it.
# from tvm.script import tirx as T
@T.prim_func
def main(N: T.Buffer((1,), "int32"), B: T.Buffer((8,), "int32")):
    for i in range(N[0] & 1, (N[0] & 1) + 4):
        N[0] = 1
        B[i] = i
