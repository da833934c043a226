# Wrong code in TVM 0.27: InjectVirtualThread puts a loop over the virtual threads around the condition, and the break then
# ends that loop: the second thread never stores, and B[1] stays -1.
# `tzerlike run docs/bugs/break_in_a_virtual_thread.py` shows it.
# from tvm.script import tirx as T
@T.prim_func
def main(A: T.Buffer((2, 3), "int32"), B: T.Buffer((2,), "int32")):
    for t in T.thread_binding(2, thread="vthread.x"):
        B[t] = -1
        for k in range(3):
            if A[t, k] > -1000:
                B[t] = k
                T.break_loop()
