"""Choices that are made once for many neighbours: flags of images, rows, particles and trips that say which of two results counts."""
from by_value import ByShape


def programs(jax):
    jnp, lax = jax.numpy, jax.lax
    make = ByShape(jax, 31)
    f32, flags = make.f32, make.flags

    def flips(images, flag):
        return jnp.where(flag[:, None, None, None], images[:, :, ::-1], images)

    def brightened(images, flag):
        return jnp.where(flag[:, None, None], jnp.clip(images * 1.2 + .1, 0, 1), images)

    def either_function(x, flag):
        return jax.vmap(lambda row, f: lax.cond(f, lambda r: jnp.exp(-r * r), lambda r: jnp.tanh(r) * r, row))(x, flag)

    def one_of_three(x, which):
        return jax.vmap(lambda row, k: lax.switch(k, [jnp.sin, jnp.tanh, lambda r: r * 2], row))(x, which)

    def resets(state, done, noise):
        fresh = .1 * noise
        stepped = state + .05 * (jnp.sin(state) + noise)
        return jnp.where(done[:, None], fresh, stepped)

    def activations_by_layer(x, kinds):
        def layer(h, kind):
            return jnp.where(kind, jax.nn.gelu(h), jax.nn.relu(h)) * .9 + .1, None
        return lax.scan(layer, x, kinds)[0]

    def frozen_rows(x):
        """Newton's method, row by row until each has converged."""
        def one(a):
            def go(s):
                r, _ = s
                new = .5 * (r + a / r)
                return new, jnp.max(jnp.abs(new - r))
            return lax.while_loop(lambda s: s[1] > 1e-5, go, (jnp.ones_like(a), jnp.float32(1)))[0]
        return jax.vmap(one)(jnp.abs(x) + .1)

    def dropped_paths(x, branch, keep):
        return x + jnp.where(keep[:, None, None], jax.nn.silu(branch) / .8, 0)

    def clipped_rows(g):
        norm = jnp.sqrt((g * g).sum(1, keepdims=True))
        return jnp.where(norm > 20, g * (20 / norm), g)

    def finite_step(p, g, m):
        """An optimizer's step that is taken only if all gradients are finite."""
        fine = jnp.isfinite(g).all()
        moments = jnp.where(fine, .9 * m + .1 * g, m)
        return jnp.where(fine, p - .01 * moments / (jnp.abs(moments) + 1e-8), p), moments

    def column_kinds(table, numeric):
        return jnp.where(numeric[:, None], jnp.log1p(jnp.abs(table)), jnp.floor(table * 10)).sum(0)

    def cache_slots(cache, new, used):
        return jnp.where(used[None, :, None], new[:, None], cache)

    def gradient(x, flag):
        return jax.grad(lambda x: (either_function(x, flag) ** 2).sum())(x)

    return {
        'flips': (flips, [f32(7, 97, 101, 3), flags(.5, 7)]),
        'flips_of_planes': (lambda x, f: jnp.where(f[:, None, None, None], x[..., ::-1], x), [f32(16, 3, 64, 64), flags(.5, 16)]),
        'upside_down': (lambda x, f: jnp.where(f[:, None, None], x[:, ::-1], x), [f32(16, 96, 80), flags(.5, 16)]),
        'brightened': (brightened, [f32(32, 64, 48), flags(.3, 32)]),
        'either_function': (either_function, [f32(300, 257), flags(.5, 300)]),
        'either_function_gradient': (gradient, [f32(300, 257), flags(.5, 300)]),
        'one_of_three': (one_of_three, [f32(200, 300), lambda: jax.random.randint(make.key, (200,), 0, 3)]),
        'resets': (resets, [f32(2000, 24), flags(.05, 2000), f32(2001, 24)][:2] + [f32(2000, 24)]),
        'activations_by_layer': (activations_by_layer, [f32(64, 256), flags(.5, 24)]),
        'frozen_rows': (frozen_rows, [f32(100, 128)]),
        'dropped_paths': (dropped_paths, [f32(16, 50, 192), f32(16, 50, 192), flags(.8, 16)]),
        'clipped_rows': (clipped_rows, [f32(400, 500)]),
        'finite_step': (finite_step, [f32(100000), f32(100000), f32(100000)]),
        'column_kinds': (column_kinds, [f32(40, 3000), flags(.5, 40)]),
        'cache_slots': (cache_slots, [f32(8, 128, 64), f32(8, 64), flags(.1, 128)]),
    }
