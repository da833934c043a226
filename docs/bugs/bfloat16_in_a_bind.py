# Wrong code in TVM 0.27: a cast from bfloat16 in the value of a Bind converts the bits as if they were an integer: 1.0 becomes
# 16256.0. Right when the value is stored without the Bind.
# `tzerlike run docs/bugs/bfloat16_in_a_bind.py` shows it.
# from tvm.script import tirx as T
@T.prim_func
def main(A: T.Buffer((4,), "bfloat16"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        v: T.let[T.float32] = T.Cast("float32", A[i])
        B[i] = v
