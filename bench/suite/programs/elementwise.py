"""Elementwise work: one op to long chains, broadcasts, selects, expensive functions, several results."""
from arrays import bf16, f32, flags, positive

FACTOR = 1.0


def programs(jax, pick, add):
    jnp, lax, nn = jax.numpy, jax.lax, jax.nn
    n = pick(1 << 12, 1 << 20, 1 << 24)
    m = pick(64, 1024, 4096)
    add('add', lambda x, y: x + y, f32(n), f32(n))
    add('axpy', lambda a, x, y: a * x + y, f32(), f32(n), f32(n))
    add('gelu', lambda x: nn.gelu(x), f32(n), factor=4)
    add('gelu_exact', lambda x: nn.gelu(x, approximate=False), f32(n), factor=4)
    add('silu_gate', lambda x, g: nn.silu(g) * x, f32(n), f32(n))
    add('softplus', lambda x: nn.softplus(x), f32(n))
    add('tanh_chain', lambda x: jnp.tanh(jnp.tanh(x * 1.5) + x) * 0.5, f32(n))
    add('exp_log', lambda x: jnp.log(jnp.exp(x) + jnp.exp(-x)), f32(n))
    add('power', lambda x: x ** 2.3, positive(n), factor=4)
    add('integer_powers', lambda x: x ** 3 + x ** 5 - 1 / (x * x + 1) ** 2, f32(n), factor=4)
    add('trigonometry', lambda x: jnp.sin(x) * jnp.cos(2 * x) + jnp.arctan2(x, 1 + x * x), f32(n), factor=2)
    add('hyperbolic', lambda x: jnp.sinh(x) / jnp.cosh(x) + jnp.arcsinh(x), f32(n), factor=4)
    add('inverse_trigonometry', lambda x: jnp.arcsin(x) + jnp.arccos(x * 0.5) + jnp.arctanh(x * 0.9), positive(n, low=-0.99), factor=8)
    add('error_function', lambda x: lax.erf(x) + lax.erfc(x) * 0.5, f32(n), factor=4)
    add('inverse_error_function', lambda x: lax.erf_inv(x), positive(n, low=-0.99, high=0.99), factor=8)
    add('log_gamma', lambda x: lax.lgamma(x), positive(n, low=0.5, high=20.0), factor=32)
    add('digamma', lambda x: lax.digamma(x), positive(n, low=1.0, high=20.0), factor=32)
    add('cbrt_expm1', lambda x: jnp.cbrt(x) + jnp.expm1(x * 0.1) + jnp.log1p(x * x), f32(n), factor=2)
    add('polynomial', lambda x: ((((0.1 * x + 0.3) * x - 0.7) * x + 0.2) * x - 0.9) * x + 1, f32(n), factor=4)
    add('select_chain', lambda x: jnp.where(x > 1, x * 2, jnp.where(x > 0, x * x, jnp.where(x > -1, -x, 1 / x))), f32(n))
    add('piecewise', lambda x: jnp.clip(x, -1, 1) + jnp.sign(x) * jnp.maximum(jnp.abs(x) - 1, 0) ** 2, f32(n))
    add('rounding', lambda x: jnp.floor(x * 3) + jnp.ceil(x) * 0.5 + jnp.round(x * 7) - jnp.trunc(x), f32(n))
    add('remainder', lambda x, y: jnp.mod(x, y) + jnp.fmod(x * 3, y), f32(n), positive(n, low=0.5, high=3.0), factor=8)
    add('row_and_column', lambda x, r, c: (x + r) * c[:, None], f32(m, m), f32(m), f32(m))
    add('outer_difference', lambda a, b: jnp.exp(-(a[:, None] - b[None]) ** 2), f32(m), f32(m))
    add('expensive_row', lambda x, r: x * jnp.exp(jnp.sin(r)) + jnp.tanh(r), f32(m, m), f32(m))
    add('last_dim_3', lambda x, s: x * s[:, None] + 1, f32(n // 4, 3), f32(n // 4))
    add('channel_scale', lambda x, g, b: nn.relu(x * g + b), f32(m // 8, m // 8, 96), f32(96), f32(96))
    add('many_results', lambda x, y: (x + y, x - y, x * y, jnp.maximum(x, y), x > y), f32(n), f32(n))
    add('transposed_operand', lambda x, y: x * y.T + x.T, f32(m, m), f32(m, m))
    add('bfloat16', lambda x, y: nn.silu(x) * y + 1, bf16(n), bf16(n), factor=2)
    add('mask', lambda x, y, p: jnp.where(p, x, y * 2), f32(n), f32(n), flags(n))
    add('convert', lambda x: (x * 100).astype(jnp.int32) + (x > 0).astype(jnp.int32), f32(n), share=1e-4)
    add('mandelbrot_steps', lambda x, y: steps(x, y, 12), f32(n, scale=0.3), f32(n, scale=0.3), factor=16)


def steps(x, y, count):
    a, b = x, y
    for _ in range(count):
        a, b = a * a - b * b + x, 2 * a * b + y
        a, b = a / (1 + abs(a)), b / (1 + abs(b))
    return a, b
