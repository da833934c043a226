# Wrong code in TVM 0.27: FlattenBuffer rewrites the index (4 - i) % 3 to i % -3 * -1, which loses the 4: B becomes A[0], A[2],
# A[1], where the program says A[1], A[0], A[2].
# `tzerlike run docs/bugs/floormod_of_a_difference.py` shows it.
# from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def main(A: T.Buffer((1, 3), "float32"), B: T.Buffer((3,), "float32")):
    for i in range(3):
        with T.sblock("b"):
            v = T.axis.spatial(3, i)
            B[v] = A[0, (4 - v) % 3]
