# Wrong code in TVM 0.27: StorageRewrite lets t share memory with s because each t[i] is made from s[i], although the
# loop around reads s again. Right with PassContext(config={"tirx.disable_storage_rewrite": True}).
# `tzerlike run docs/bugs/reuse_of_a_live_buffer.py` shows it.
# from tvm.script import tirx as T
@T.prim_func
def main(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    s = T.alloc_buffer((4,))
    t = T.alloc_buffer((4,))
    for i in range(4):
        s[i] = A[i] * T.float32(2)
    for r in range(2):
        for i in range(4):
            t[i] = s[i] + T.float32(1)
    for i in range(4):
        B[i] = t[i]
