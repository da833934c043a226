from tvm.script import tirx as T


@T.prim_func
def math_float32(A: T.Buffer((6,), "float32"), B: T.Buffer((8, 6), "float32")):
    for i in range(6):
        B[0, i] = T.exp(A[i])
        B[1, i] = T.log(T.fabs(A[i]) + T.float32(1))
        B[2, i] = T.tanh(A[i])
        B[3, i] = T.sigmoid(A[i])
        B[4, i] = T.sqrt(T.fabs(A[i]))
        B[5, i] = T.rsqrt(T.fabs(A[i]) + T.float32(1))
        B[6, i] = T.sin(A[i])
        B[7, i] = T.pow(T.fabs(A[i]), T.float32(1.5))


@T.prim_func
def math_bases(A: T.Buffer((4,), "float32"), B: T.Buffer((5, 4), "float32")):
    for i in range(4):
        x: T.let[T.float32] = T.fabs(A[i]) + T.float32(0.5)
        B[0, i] = T.exp2(x)
        B[1, i] = T.exp10(x)
        B[2, i] = T.log2(x)
        B[3, i] = T.log10(x)
        B[4, i] = T.log1p(x)


@T.prim_func
def math_binary(A: T.Buffer((4,), "float64"), B: T.Buffer((4,), "float64"), C: T.Buffer((4, 4), "float64")):
    for i in range(4):
        C[0, i] = T.atan2(A[i], B[i])
        C[1, i] = T.hypot(A[i], B[i])
        C[2, i] = T.copysign(A[i], B[i])
        C[3, i] = T.nextafter(A[i], B[i])


@T.prim_func
def rounding(A: T.Buffer((6,), "float32"), B: T.Buffer((5, 6), "float32")):
    for i in range(6):
        B[0, i] = T.floor(A[i])
        B[1, i] = T.ceil(A[i])
        B[2, i] = T.trunc(A[i])
        B[3, i] = T.round(A[i])
        B[4, i] = T.nearbyint(A[i])


@T.prim_func
def classify(A: T.Buffer((6,), "float32"), B: T.Buffer((3, 6), "bool")):
    for i in range(6):
        B[0, i] = T.isnan(A[i])
        B[1, i] = T.isinf(A[i])
        B[2, i] = T.isfinite(A[i])


@T.prim_func
def bit_counts(A: T.Buffer((6,), "int32"), B: T.Buffer((6,), "int64"), C: T.Buffer((2, 6), "int32")):
    for i in range(6):
        C[0, i] = T.popcount(A[i]) + T.Cast("int32", T.popcount(B[i]))
        C[1, i] = T.clz(T.bitwise_or(A[i], 1))


@T.prim_func
def fused_multiply_add(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float64")):
    for i in range(4):
        C[i] = T.fma(T.Cast("float64", A[i]), T.Cast("float64", B[i]), T.float64(0.5)) + T.Cast(
            "float64", T.fma(A[i], B[i], A[i])
        )


@T.prim_func
def reinterpret_bits(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "int32"), C: T.Buffer((4,), "float32")):
    for i in range(4):
        B[i] = T.bitwise_and(T.reinterpret("int32", A[i]), 0x7FFFFFFF)
        C[i] = T.reinterpret("float32", T.bitwise_and(T.reinterpret("uint32", A[i]), T.uint32(0xFFFF0000)))


@T.prim_func
def fixed_point(A: T.Buffer((6,), "int32"), B: T.Buffer((6,), "int32")):
    for i in range(6):
        B[i] = T.q_multiply_shift(A[i], T.int32(1395864371), T.int32(31), T.int32(-2))


@T.prim_func
def absolute(A: T.Buffer((5,), "int32"), B: T.Buffer((5,), "float64"), C: T.Buffer((5,), "float64")):
    for i in range(5):
        C[i] = T.Cast("float64", T.abs(A[i])) + T.abs(B[i])


@T.prim_func
def limits(A: T.Buffer((6,), "int8"), M: T.Buffer((2,), "int8"), F: T.Buffer((1,), "float32")):
    M[0] = T.min_value("int8")
    M[1] = T.max_value("int8")
    F[0] = T.min_value("float32")
    for i in range(6):
        M[0] = T.max(M[0], A[i])
        M[1] = T.min(M[1], A[i])


@T.prim_func
def hyperbolic(A: T.Buffer((4,), "float32"), B: T.Buffer((6, 4), "float32")):
    for i in range(4):
        B[0, i] = T.sinh(A[i])
        B[1, i] = T.cosh(A[i])
        B[2, i] = T.asinh(A[i])
        B[3, i] = T.atan(A[i])
        B[4, i] = T.tan(A[i])
        B[5, i] = T.erf(A[i])


@T.prim_func
def scale_exponent(A: T.Buffer((4,), "float32"), E: T.Buffer((4,), "int32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        B[i] = T.ldexp(A[i], T.bitwise_and(E[i], 7))


@T.prim_func
def integer_power(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        B[i] = T.pow(A[i], T.float32(3))


@T.prim_func
def lane_mask(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
    for i in range(8):
        B[i] = A[T.bitwise_and(i * 5, 7)] + T.likely(A[i] > 0).astype("int32")
