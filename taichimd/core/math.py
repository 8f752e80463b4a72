"""Elementary functions in plain IEEE arithmetic: the same bits on the CPU and on CUDA.

The libraries' exp, cos and pow differ between backends in the last bit; additions, multiplications,
divisions and square roots do not. So these use nothing else: argument reduction by exact constants, then
polynomials long enough for float64, and scaling by powers of two through the exponent bits.
float32 kernels run the same code with float32 literals.

Largest errors in units in the last place, without fused multiply-add, as tests/core/test_math.py asserts
them against mpmath: exp 1.0, log 0.9, power 2 + 2 |y log x|, inverse cube root, angle 1.5; in float64 sin,
cos 1.5 for |x| < 10, 1.9 up to 1e4 (at their zeros, too), 2.5 up to 1e5. In float32 sin and cos have 1.6 for
|x| < 0.75, and up to 1e4 an absolute error of 6.6e-8, which near a zero is many units. Arguments and results
below the smallest normal number count as zero on the CPU: both runtimes set the processor to flush them.

Reduction constants split ln 2 and pi/2 into parts with trailing zero bits, so that k times the leading
part is exact for the k that occur (W. J. Cody and W. Waite, Software Manual for the Elementary Functions,
1980). A potential derived from its energy alone uses these names as well; derivation replaces them by
SymPy's.
"""

from math import factorial

from taichimd.core.runtime import literal_type, ti

_INFINITY = float("inf")
_NOT_A_NUMBER = float("nan")
_LOG2E = 1.4426950408889634
_LN2_HI = 0.693147180369123816490
_LN2_LO = 1.90821492927058770002e-10
_LN2_HI_F32 = 0.693359375
_LN2_LO_F32 = -2.12194440e-4
_TWO_OVER_PI = 0.6366197723675814
_PIO2_A = 1.57079632673412561417e00
_PIO2_B = 6.07710050630396597660e-11
_PIO2_C = 2.02226624879595063154e-21
_PIO2_A_F32 = 1.5703125
_PIO2_B_F32 = 4.83751296997e-4
_PIO2_C_F32 = 7.54978995489e-8
_EXP = [
    0.5000000000000011, 0.1666666666666641, 0.0416666666665292, 0.008333333333495596, 0.001388888894391868,
    0.0001984126950482325, 2.480149276800066e-05, 2.755758729863094e-06, 2.763037641787989e-07,
    2.4999975653334714e-08,
]  # fmt: skip
"""Coefficients of (e^r - 1 - r)/r^2.

Their largest error for |r| <= ln(2)/2 is the smallest: 3.7e-18 of e^r, with two terms fewer than a Taylor
polynomial needs."""
_SIN = [(-1.0) ** k / factorial(2 * k + 1) for k in range(1, 9)]
_COS = [(-1.0) ** k / factorial(2 * k) for k in range(2, 10)]
_ROOT = [1.0 / 3.0, 2.0 / 9.0, 14.0 / 81.0]
_THIRD, _THIRD_F32 = 0x553EF0FF, 0x54A2FA8C
_ATANH = [2.0 / (2 * k + 1) for k in range(1, 13)]
_ATAN = [
    -0.3333333333333333, 0.19999999999999804, -0.14285714285659779, 0.11111111105150588, -0.09090908753259112,
    0.07692296368042296, -0.0666642476020052, 0.05878927554473807, -0.05230443640686948, 0.045515447340221615,
    -0.03456931506332609, 0.016284375050043393,
]  # fmt: skip
"""Coefficients of (atan t - t)/t^3 in t^2 for |t| <= tan(pi/8): 3e-18, interpolation at Chebyshev's nodes."""
_TAN_PI_8 = 0.41421356237309503
_PI = 3.141592653589793


def _single() -> bool:
    return literal_type() == ti.f32


@ti.func
def _four(x, x2, c: ti.template(), first: ti.template()):
    return (c[first] + c[first + 1] * x) + (c[first + 2] + c[first + 3] * x) * x2


@ti.func
def _eight(x, c: ti.template()):
    """Sum of c[k] x^k, k < 8. Estrin's scheme: short chains, where Horner's would cost their latency."""
    x2 = x * x
    return _four(x, x2, c, 0) + x2 * x2 * _four(x, x2, c, 4)


@ti.func
def _ten(x, c: ti.template()):
    """Sum of c[k] x^k, k < 10."""
    x2 = x * x
    x4 = x2 * x2
    return _four(x, x2, c, 0) + x4 * (_four(x, x2, c, 4) + x4 * (c[8] + c[9] * x))


@ti.func
def _twelve(x, c: ti.template()):
    """Sum of c[k] x^k, k < 12."""
    x2 = x * x
    x4 = x2 * x2
    return _four(x, x2, c, 0) + x4 * (_four(x, x2, c, 4) + x4 * _four(x, x2, c, 8))


@ti.func
def _scaled(y, k):
    """Y 2^k by adding k to the exponent bits, for y and the result normal numbers."""
    z = y
    if ti.static(_single()):
        z = ti.bit_cast(ti.bit_cast(y, ti.i32) + (k << 23), ti.f32)
    else:
        z = ti.bit_cast(ti.bit_cast(y, ti.i64) + (ti.cast(k, ti.i64) << 52), ti.f64)
    return z


@ti.func
def _last_bits(t):
    """The whole number k of t = 1.5 2^52 + k (1.5 2^23 + k in float32), modulo the range of exponents."""
    k = 0
    if ti.static(_single()):
        k = ti.bit_cast(t, ti.i32)
    else:
        k = ti.cast(ti.bit_cast(t, ti.i64), ti.i32)
    return k


@ti.func
def exp(x):
    """Exponential of x; 0 where the result would not be a normal number, infinity above the range."""
    # Numbers as large as this are whole, and their last bits are the number: no conversion, slow on a GPU.
    whole = ti.static(1.5 * 2.0 ** (23 if _single() else 52))
    t = x * _LOG2E + whole
    k = t - whole
    r = x - k * ti.static(_LN2_HI_F32 if _single() else _LN2_HI)
    r -= k * ti.static(_LN2_LO_F32 if _single() else _LN2_LO)
    y = 1.0 + (r + r * r * _ten(r, _EXP))
    # Choices, not branches: so the compiler works on several exponentials at a time. Up to `top` the result
    # is a normal number: where k is one more than the largest exponent, y is below 1.
    low, top = ti.static((-87.0, 88.72) if _single() else (-708.0, 709.78))
    below, above = x < low, not x <= top
    y = _scaled(y, ti.select(below | above, 0, _last_bits(t)))
    # The product is infinite for every x beyond the top, infinity included; not a number for what is none.
    return ti.select(above, x * ti.static(3e38 if _single() else 1e308), ti.select(below, 0.0, y))


@ti.func
def log(x):
    """Natural logarithm of x > 0 (normal numbers); minus infinity at 0, not a number below."""
    e = 0
    m = x
    if ti.static(_single()):
        bits = ti.bit_cast(x, ti.i32)
        e = (bits >> 23) - 127
        m = ti.bit_cast(bits - (e << 23), ti.f32)
    else:
        bits = ti.bit_cast(x, ti.i64)
        e = ti.cast(bits >> 52, ti.i32) - 1023
        m = ti.bit_cast(bits - (ti.cast(e, ti.i64) << 52), ti.f64)
    large = m > 1.4142135623730951
    m = ti.select(large, 0.5 * m, m)
    e += ti.select(large, 1, 0)
    # With s = f/(2+f): log(1+f) = f - f^2/2 + s (f^2/2 + R), R = 2 (s^2/3 + s^4/5 + ...).
    f = m - 1.0
    s = f / (2.0 + f)
    z = s * s
    half = 0.5 * f * f
    tail = z * _twelve(z, _ATANH)
    k = 1.0 * e
    y = k * ti.static(_LN2_HI_F32 if _single() else _LN2_HI) - (
        (half - (s * (half + tail) + k * ti.static(_LN2_LO_F32 if _single() else _LN2_LO))) - f
    )
    # Minus infinity at 0; not a number below, and for what is none.
    return ti.select(x > 0.0, y, ti.select(x == 0.0, -_INFINITY, _NOT_A_NUMBER))


@ti.func
def power(x, y):
    """x^y for x > 0 as exp(y log x); 0 for x <= 0 (a sum of positive terms that is empty)."""
    # Not `x > 0`: what is not a number must not come out as zero.
    return ti.select(x <= 0.0, 0.0, exp(y * log(x)))


@ti.func
def _sine_cosine(x):
    """Sine and cosine of the remainder in [-pi/4, pi/4], and the quadrant."""
    k = ti.floor(x * _TWO_OVER_PI + 0.5)
    r = x - k * ti.static(_PIO2_A_F32 if _single() else _PIO2_A)
    r -= k * ti.static(_PIO2_B_F32 if _single() else _PIO2_B)
    r -= k * ti.static(_PIO2_C_F32 if _single() else _PIO2_C)
    z = r * r
    s = r + r * z * _eight(z, _SIN)
    half = 0.5 * z
    w = 1.0 - half
    c = w + (((1.0 - w) - half) + z * z * _eight(z, _COS))
    return s, c, ti.cast(k, ti.i32) & 3


@ti.func
def sin(x):
    """Sine of x, |x| < 1e5 (float32: 1e4)."""
    s, c, quadrant = _sine_cosine(x)
    y = s if quadrant % 2 == 0 else c
    return -y if quadrant >= 2 else y


@ti.func
def cos(x):
    """Cosine of x, |x| < 1e5 (float32: 1e4)."""
    s, c, quadrant = _sine_cosine(x)
    y = c if quadrant % 2 == 0 else s
    return -y if quadrant == 1 or quadrant == 2 else y


@ti.func
def angle(x, y):
    """Angle in [0, pi] of a vector (x, y) with y >= 0; 0 where both are 0."""
    a = ti.abs(x)
    large = ti.max(a, y)
    t = ti.select(large > 0.0, ti.min(a, y) / ti.max(large, 1e-30), 0.0)
    # atan t = pi/4 + atan((t - 1)/(t + 1)).
    steep = t > _TAN_PI_8
    u = ti.select(steep, (t - 1.0) / (t + 1.0), t)
    z = u * u
    v = ti.select(steep, 0.25 * _PI, 0.0) + (u + u * z * _twelve(z, _ATAN))
    v = ti.select(y > a, 0.5 * _PI - v, v)
    return ti.select(x < 0.0, _PI - v, v)


@ti.func
def sqrt(x):
    """Square root, correctly rounded by both backends."""
    return ti.sqrt(x)


@ti.func
def _third(k):
    """k/3 for a whole number k >= 0 of 32 bits, rounded down."""
    return ti.cast((ti.cast(k, ti.i64) * 0x55555556) >> 32, ti.i32)


@ti.func
def inverse_cube_root(x):
    """x^(-1/3) for normal x > 0, to 1.5 units in the last place.

    A third of the bits, as a whole number, is a first guess to 4 %. Each step takes four terms of
    (1 - e)^(-1/3) with e = 1 - x y^3, which leaves 0.15 e^4.
    """
    y = x
    if ti.static(_single()):
        y = ti.bit_cast(_THIRD_F32 - _third(ti.bit_cast(x, ti.i32)), ti.f32)
    else:
        # The upper half alone: a division of 64 bits is slow on a GPU.
        upper = ti.cast(ti.bit_cast(x, ti.i64) >> 32, ti.i32)
        y = ti.bit_cast(ti.cast(_THIRD - _third(upper), ti.i64) << 32, ti.f64)
    for _ in ti.static(range(2)):
        e = 1.0 - x * y * (y * y)
        y += y * (e * (_ROOT[0] + e * (_ROOT[1] + e * _ROOT[2])))
    return y
