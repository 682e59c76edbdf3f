"""Networks as papers draw them: squeezed and weighted channels, routed capsules, spikes, machines with memory, and their training steps."""
import numpy as np
from by_value import Programs, Random
R = Random(901)
f32, i32 = R.f32, R.i32
FACTOR = 64.0

def programs(jax):
    import jax.numpy as jnp
    from jax import lax
    P = Programs(); add = P.add

    # MBConv with squeeze-and-excitation, training step
    def conv(x, w, s=1, g=1):
        return lax.conv_general_dilated(x, w, (s, s), 'SAME', dimension_numbers=('NHWC', 'HWIO', 'NHWC'), feature_group_count=g)
    def mbconv(p, x):
        h = jax.nn.silu(conv(x, p['expand']))
        h = jax.nn.silu(conv(h, p['dw'], 2, h.shape[-1]))
        s = h.mean((1, 2))
        s = jax.nn.sigmoid(jax.nn.silu(s @ p['s1'] + p['b1']) @ p['s2'] + p['b2'])
        return conv(h * s[:, None, None], p['project'])
    def mb_step(p, x, y):
        def loss(p):
            z = mbconv(p, x).mean((1, 2)) @ p['head']
            return -(jax.nn.log_softmax(z) * jax.nn.one_hot(y, 13)).sum(-1).mean()
        l, g = jax.value_and_grad(loss)(p)
        return l, jax.tree.map(lambda a, b: a - 0.01 * b, p, g)
    add('mbconv_se_step', mb_step, dict(expand=f32(1, 1, 14, 56) * .2, dw=f32(5, 5, 1, 56) * .2, s1=f32(56, 7) * .2, b1=f32(7), s2=f32(7, 56) * .2, b2=f32(56),
        project=f32(1, 1, 56, 22) * .2, head=f32(22, 13)), f32(6, 29, 29, 14), i32(13, 6))

    # convolutional LSTM over frames
    def convlstm(p, frames):
        def cell(c, x):
            h, c = c
            z = conv(jnp.concatenate([x, h], -1), p['w']) + p['b']
            i, f, o, g = jnp.split(z, 4, -1)
            c = jax.nn.sigmoid(f + 1) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h
        z = jnp.zeros(frames.shape[1:-1] + (12,))
        _, hs = lax.scan(cell, (z, z), frames)
        return conv(hs[-1], p['out'])
    def convlstm_grad(p, frames, target):
        return jax.value_and_grad(lambda p: ((convlstm(p, frames) - target) ** 2).mean())(p)
    cl = dict(w=f32(3, 3, 15, 48) * .1, b=f32(48) * .1, out=f32(3, 3, 12, 3) * .1)
    add('conv_lstm_forward', convlstm, cl, f32(9, 3, 21, 21, 3))
    add('conv_lstm_gradient', convlstm_grad, cl, f32(7, 2, 17, 19, 3), f32(2, 17, 19, 3))

    # weight standardisation + group norm
    def ws_block(p, x):
        def ws(w):
            m = w.mean((0, 1, 2)); v = w.var((0, 1, 2))
            return (w - m) * lax.rsqrt(v * np.prod(w.shape[:3]) + 1e-4)
        def gn(x, g, b, n=6):
            s = x.shape
            x = x.reshape(s[0], -1, n, s[-1] // n)
            m = x.mean((1, 3), keepdims=True); v = x.var((1, 3), keepdims=True)
            return ((x - m) * lax.rsqrt(v + 1e-5)).reshape(s) * g + b
        h = jax.nn.relu(gn(conv(x, ws(p['w1'])), p['g1'], p['b1']))
        return x + gn(conv(h, ws(p['w2'])), p['g2'], p['b2'])
    add('weight_standardised_gradient', lambda p, x: jax.grad(lambda p, x: (ws_block(p, x) ** 2).sum(), (0, 1))(p, x),
        dict(w1=f32(3, 3, 18, 18), g1=f32(18), b1=f32(18), w2=f32(3, 3, 18, 18), g2=f32(18), b2=f32(18)), f32(4, 23, 23, 18))

    # bilinear sampling: spatial transformer with gradient wrt image and theta
    def bilinear(img, xy):
        H, W = img.shape[:2]
        x, y = (xy[..., 0] + 1) * (W - 1) / 2, (xy[..., 1] + 1) * (H - 1) / 2
        x0, y0 = jnp.floor(x), jnp.floor(y)
        def at(yy, xx):
            ok = (xx >= 0) & (xx < W) & (yy >= 0) & (yy < H)
            v = img[jnp.clip(yy, 0, H - 1).astype(int), jnp.clip(xx, 0, W - 1).astype(int)]
            return jnp.where(ok[..., None], v, 0.)
        wx, wy = (x - x0)[..., None], (y - y0)[..., None]
        return (at(y0, x0) * (1 - wx) + at(y0, x0 + 1) * wx) * (1 - wy) + (at(y0 + 1, x0) * (1 - wx) + at(y0 + 1, x0 + 1) * wx) * wy
    def stn(imgs, theta):
        ys, xs = jnp.meshgrid(jnp.linspace(-1, 1, 37), jnp.linspace(-1, 1, 33), indexing='ij')
        base = jnp.stack([xs, ys, jnp.ones_like(xs)], -1)
        return jax.vmap(lambda im, t: bilinear(im, base @ t.T))(imgs, theta)
    th = np.tile(np.array([[.9, .1, .05], [-.1, .8, .02]], np.float32), (5, 1, 1)) + f32(5, 2, 3) * .05
    add('spatial_transformer', stn, f32(5, 37, 33, 3), th)
    add('spatial_transformer_gradient', lambda im, t, y: jax.grad(lambda im, t: ((stn(im, t) - y) ** 2).mean(), (0, 1))(im, t), f32(5, 37, 33, 3), th, f32(5, 37, 33, 3))

    # deformable 3x3 convolution
    def deform(x, off, w):
        def one(im, o):
            H, W, C = im.shape
            gy, gx = jnp.meshgrid(jnp.arange(H), jnp.arange(W), indexing='ij')
            k = jnp.stack(jnp.meshgrid(jnp.arange(-1, 2), jnp.arange(-1, 2), indexing='ij'), -1).reshape(9, 2)
            py = gy[..., None] + k[:, 0] + o[..., 0::2]; px = gx[..., None] + k[:, 1] + o[..., 1::2]
            y0, x0 = jnp.floor(py).astype(int), jnp.floor(px).astype(int)
            wy, wx = py - y0, px - x0
            def at(y, x):
                ok = (y >= 0) & (y < H) & (x >= 0) & (x < W)
                return im[y.clip(0, H - 1), x.clip(0, W - 1)] * ok[..., None]
            s = (at(y0, x0) * ((1 - wy) * (1 - wx))[..., None] + at(y0, x0 + 1) * ((1 - wy) * wx)[..., None]
                 + at(y0 + 1, x0) * (wy * (1 - wx))[..., None] + at(y0 + 1, x0 + 1) * (wy * wx)[..., None])
            return jnp.einsum('hwkc,kcd->hwd', s, w)
        return jax.vmap(one)(x, off)
    add('deformable_convolution', deform, f32(2, 27, 25, 10), f32(2, 27, 25, 18), f32(9, 10, 14))

    # ROI align
    def roi_align(feat, boxes):
        def one(b):
            n, s = 7, 2
            ys = b[0] + (b[2] - b[0]) * (jnp.arange(n * s) + .5) / (n * s)
            xs = b[1] + (b[3] - b[1]) * (jnp.arange(n * s) + .5) / (n * s)
            g = jnp.stack(jnp.meshgrid(ys, xs, indexing='ij'))
            v = jax.vmap(lambda f: jax.scipy.ndimage.map_coordinates(f, g, 1, mode='nearest'), -1, -1)(feat)
            return v.reshape(n, s, n, s, -1).mean((1, 3))
        return jax.vmap(one)(boxes)
    bx = np.sort(R.rand(30, 2, 2) * 38, 1).reshape(30, 4).astype(np.float32)
    add('roi_align', roi_align, f32(40, 44, 24), bx)

    # ESPCN super resolution
    def espcn(p, x):
        h = jnp.tanh(conv(x, p[0])); h = jnp.tanh(conv(h, p[1])); h = conv(h, p[2])
        n, H, W, c = h.shape
        return h.reshape(n, H, W, 3, 3, c // 9).transpose(0, 1, 3, 2, 4, 5).reshape(n, H * 3, W * 3, c // 9)
    ep = [f32(5, 5, 1, 32) * .1, f32(3, 3, 32, 24) * .1, f32(3, 3, 24, 9) * .1]
    add('pixel_shuffle_net_step', lambda p, x, y: jax.tree.map(lambda a, g: a - .01 * g, p, jax.grad(lambda p: jnp.abs(espcn(p, x) - y).mean())(p)), ep, f32(4, 19, 23, 1), f32(4, 57, 69, 1))

    # focal loss and box regression with anchor assignment
    def detection_loss(anchors, gt, gtc, logits, deltas):
        def one(gt, gtc, logits, deltas):
            tl = jnp.maximum(anchors[:, None, :2], gt[:, :2]); br = jnp.minimum(anchors[:, None, 2:], gt[:, 2:])
            inter = jnp.prod(jnp.clip(br - tl, 0), -1)
            area = lambda b: jnp.prod(b[..., 2:] - b[..., :2], -1)
            iou = inter / (area(anchors)[:, None] + area(gt) - inter)
            best, idx = iou.max(1), iou.argmax(1)
            t = jax.nn.one_hot(jnp.where(best > .4, gtc[idx], -1), logits.shape[-1])
            ce = jnp.maximum(logits, 0) - logits * t + jnp.log1p(jnp.exp(-jnp.abs(logits)))
            pt = jnp.exp(-ce)
            fl = jnp.where(t > 0, .25, .75) * (1 - pt) ** 2 * ce
            fl = jnp.where(((best < .3) | (best > .4))[:, None], fl, 0).sum()
            wh = anchors[:, 2:] - anchors[:, :2]; g = gt[idx]
            tgt = jnp.concatenate([(g[:, :2] - anchors[:, :2]) / wh, jnp.log((g[:, 2:] - g[:, :2]) / wh)], -1)
            d = jnp.abs(deltas - tgt)
            return fl + jnp.where((best > .4)[:, None], jnp.where(d < 1, .5 * d * d, d - .5), 0).sum()
        return jax.vmap(one)(gt, gtc, logits, deltas).mean()
    def boxes(*s):
        c = R.rand(*s, 2) * 100; w = 8 + R.rand(*s, 2) * 40
        return np.concatenate([c - w / 2, c + w / 2], -1).astype(np.float32)
    add('detection_loss_gradient', lambda *a: jax.grad(detection_loss, (3, 4))(*a), boxes(945), boxes(3, 11), i32(9, 3, 11), f32(3, 945, 9), f32(3, 945, 4))

    # Kolmogorov-Arnold network with B-splines
    def kan_layer(c, wb, x):
        grid = jnp.linspace(-1.6, 1.6, 12)
        x_ = x[..., None]
        b = ((x_ >= grid[:-1]) & (x_ < grid[1:])).astype(x.dtype)
        for k in range(1, 4):
            b = ((x_ - grid[:-(k + 1)]) / (grid[k:-1] - grid[:-(k + 1)]) * b[..., :-1] + (grid[k + 1:] - x_) / (grid[k + 1:] - grid[1:-k]) * b[..., 1:])
        return jnp.einsum('nib,iob->no', b, c) + jax.nn.silu(x) @ wb
    def kan_loss(p, x, y):
        return ((kan_layer(p[2], p[3], jnp.tanh(kan_layer(p[0], p[1], x))) - y) ** 2).mean()
    add('kan_step', lambda p, x, y: jax.value_and_grad(kan_loss)(p, x, y), [f32(7, 17, 8) * .2, f32(7, 17) * .3, f32(17, 3, 8) * .2, f32(17, 3) * .3], f32(150, 7) * .5, f32(150, 3))

    # capsules with routing
    def capsules(u, w):
        uh = jnp.einsum('bid,ijde->bije', u, w)
        squash = lambda s: (n := (s * s).sum(-1, keepdims=True)) / (1 + n) * s * lax.rsqrt(n + 1e-7)
        def it(_, b):
            v = squash(jnp.einsum('bij,bije->bje', jax.nn.softmax(b, -1), uh))
            return b + jnp.einsum('bije,bje->bij', uh, v)
        b = lax.fori_loop(0, 3, it, jnp.zeros(uh.shape[:3]))
        v = squash(jnp.einsum('bij,bije->bje', jax.nn.softmax(b, -1), uh))
        return jnp.sqrt((v * v).sum(-1))
    add('capsule_routing', capsules, f32(9, 180, 8), f32(180, 10, 8, 12) * .1)

    # leaky integrate and fire with surrogate gradient
    @jax.custom_vjp
    def spike(v): return (v > 0).astype(v.dtype)
    spike.defvjp(lambda v: (spike(v), v), lambda v, g: (g / (1 + 10 * jnp.abs(v)) ** 2,))
    def snn(p, x):
        def step(c, xt):
            v1, v2, s1 = c
            v1 = .9 * v1 + xt @ p['w1'] + s1 @ p['r'] - s1
            s1 = spike(v1 - 1)
            v2 = .95 * v2 + s1 @ p['w2']
            return (v1, v2, s1), v2
        z = jnp.zeros((x.shape[1], 45))
        return lax.scan(step, (z, jnp.zeros((x.shape[1], 11)), z), x)[1].max(0)
    add('spiking_net_gradient', lambda p, x, y: jax.value_and_grad(lambda p: -jnp.take_along_axis(jax.nn.log_softmax(snn(p, x)), y[:, None], 1).mean())(p),
        dict(w1=f32(33, 45) * .3, r=f32(45, 45) * .1, w2=f32(45, 11) * .3), (R.rand(70, 12, 33) < .2).astype(np.float32), i32(11, 12))

    # memory with content addressing (neural Turing machine)
    def ntm(p, xs):
        def step(c, x):
            M, w, r = c
            h = jnp.tanh(jnp.concatenate([x, r]) @ p['c'])
            k, beta, g, s, gam, e, a = (h @ p[n] for n in ('k', 'beta', 'g', 's', 'gam', 'e', 'a'))
            sim = M @ k / (jnp.linalg.norm(M, axis=1) * jnp.linalg.norm(k) + 1e-6)
            wc = jax.nn.softmax(jax.nn.softplus(beta) * sim)
            g = jax.nn.sigmoid(g)
            w = g * wc + (1 - g) * w
            s = jax.nn.softmax(s)
            w = s[0] * jnp.roll(w, -1) + s[1] * w + s[2] * jnp.roll(w, 1)
            w = w ** (1 + jax.nn.softplus(gam)); w = w / (w.sum() + 1e-6)
            M = M * (1 - jnp.outer(w, jax.nn.sigmoid(e))) + jnp.outer(w, a)
            r = w @ M
            return (M, w, r), jnp.concatenate([h, r]) @ p['o']
        return lax.scan(step, (jnp.full((41, 15), .01), jnp.zeros(41).at[0].set(1.), jnp.zeros(15)), xs)[1]
    np_ = dict(c=f32(9 + 15, 30) * .3, k=f32(30, 15) * .3, beta=f32(30, 1), g=f32(30, 1), s=f32(30, 3), gam=f32(30, 1), e=f32(30, 15) * .3, a=f32(30, 15) * .3, o=f32(45, 9) * .3)
    add('turing_machine', ntm, np_, f32(60, 9))
    add('turing_machine_gradient', lambda p, x, y: jax.grad(lambda p: ((jax.vmap(ntm, (None, 0))(p, x) - y) ** 2).mean())(p), np_, f32(5, 22, 9), f32(5, 22, 9))
    return P
