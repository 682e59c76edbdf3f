"""Tensors of four to nine dims: contractions of several at once, changes of bases, parts that change signs, trains and trees of tensors, sums over every other dim."""
import itertools

import numpy as np
from by_value import Programs, Random

FACTOR = 1024.0


def programs(jax):
    jnp, lax = jax.numpy, jax.lax
    P, R = Programs(), Random(12)
    add, f32 = P.add, R.f32
    ein = lambda spec: lambda *a: jnp.einsum(spec, *a)

    add('four_bases_changed', ein('pqrs,pi,qj,rk,sl->ijkl'), f32(9, 9, 9, 9), *(f32(9, 7) for _ in range(4)))
    add('four_bases_of_13', ein('pqrs,pi,qj,rk,sl->ijkl'), f32(13, 13, 13, 13), *(f32(13, 13) for _ in range(4)))
    add('direct_and_exchange', lambda g, d: 2 * jnp.einsum('pqrs,rs->pq', g, d) - jnp.einsum('prqs,rs->pq', g, d), f32(17, 17, 17, 17), f32(17, 17))
    add('ladder', ein('abef,efij->abij'), f32(11, 11, 11, 11), f32(11, 11, 5, 5))
    add('rings', lambda t, w: (lambda x: x - x.transpose(1, 0, 2, 3) - x.transpose(0, 1, 3, 2) + x.transpose(1, 0, 3, 2))(jnp.einsum('acik,kbcj->abij', t, w)), f32(10, 10, 5, 5), f32(5, 10, 10, 5))
    add('triples', lambda t, w: jnp.einsum('abij,cjkb->acik', t, w) / (jnp.arange(8.)[:, None, None, None] + jnp.arange(8.)[:, None, None] + jnp.arange(5.)[:, None] + jnp.arange(5.) + 1), f32(8, 9, 5, 6), f32(8, 6, 5, 9))

    def antisymmetric(x):
        total = 0
        for p in itertools.permutations(range(4)):
            sign = np.linalg.det(np.eye(4)[list(p)])
            total = total + float(round(sign)) * x.transpose(p)
        return total / 24
    add('antisymmetric_of_four', antisymmetric, f32(11, 11, 11, 11))
    add('symmetric_of_three', lambda x: sum(x.transpose(p) for p in itertools.permutations(range(3))) / 6, f32(31, 31, 31))

    cores = [f32(*s) for s in ((1, 5, 3), (3, 6, 5), (5, 7, 7), (7, 6, 5), (5, 5, 1))]
    add('train_opened', ein('aib,bjc,ckd,dle,emf->ijklm'), *cores)
    add('trains_times_each_other', ein('aib,bjc,ckd,AiB,BjC,CkD->'), *(f32(*s) for s in ((1, 9, 7), (7, 9, 7), (7, 9, 1), (1, 9, 5), (5, 9, 5), (5, 9, 1))))
    add('train_at_places', lambda i, *g: jax.vmap(lambda i: (g[0][:, i[0]] @ g[1][:, i[1]] @ g[2][:, i[2]] @ g[3][:, i[3]] @ g[4][:, i[4]])[0, 0])(i), R.i32(5, 700, 5), *cores)
    add('train_at_places_gradient', lambda i, y, *g: jax.grad(lambda g: ((jax.vmap(lambda i: (g[0][:, i[0]] @ g[1][:, i[1]] @ g[2][:, i[2]] @ g[3][:, i[3]] @ g[4][:, i[4]])[0, 0])(i) - y) ** 2).sum())(g), R.i32(5, 700, 5), f32(700), *cores)
    add('tree_of_factors', ein('abc,ia,jb,kc,n->ijkn'), f32(4, 5, 6), f32(15, 4), f32(16, 5), f32(17, 6), f32(3))
    add('times_khatri_rao', ein('ijk,jr,kr->ir'), f32(21, 22, 23), f32(22, 6), f32(23, 6))
    add('three_factors_in_turn', lambda x, a, b, c: (lambda s: s)(tuple(jnp.linalg.solve((u.T @ u) * (v.T @ v) + .1 * jnp.eye(6), jnp.einsum(e, x, u, v).T).T for e, u, v in (('ijk,jr,kr->ir', b, c), ('ijk,ir,kr->jr', a, c), ('ijk,ir,jr->kr', a, b)))), f32(21, 22, 23), f32(21, 6), f32(22, 6), f32(23, 6))
    add('gram_along_each', lambda x: tuple(jnp.tensordot(x, x, ([k for k in range(5) if k != d],) * 2) for d in range(5)), f32(5, 6, 7, 8, 9))
    add('means_along_pairs', lambda x: tuple(x.mean(p) for p in itertools.combinations(range(5), 2)), f32(5, 6, 7, 8, 9))
    add('every_other_dim_summed', lambda x: jnp.exp(x).sum((0, 2, 4, 6)), f32(3, 5, 3, 5, 3, 5, 3, 5))
    add('every_other_dim_first', lambda x: x.transpose(1, 3, 5, 7, 0, 2, 4, 6) * 2, f32(3, 5, 3, 5, 3, 5, 3, 5))
    add('dims_turned_round', lambda x: x.transpose(range(8)[::-1]) + 1, f32(3, 4, 2, 5, 3, 2, 4, 5))
    add('nine_dims_of_three', lambda x: (x - x.mean((1, 4, 7), keepdims=True)).transpose(8, 1, 6, 3, 4, 5, 2, 7, 0), f32(*(3,) * 9))
    add('normalised_over_dims_apart', lambda x: (x - x.mean((0, 2, 4), keepdims=True)) * lax.rsqrt(x.var((0, 2, 4), keepdims=True) + 1e-5), f32(7, 6, 8, 5, 9))
    add('softmax_over_two_dims_apart', lambda x: jax.nn.softmax(x, (1, 3)), f32(6, 9, 7, 11))
    add('space_to_depth_of_volumes', lambda x: x.reshape(2, 5, 3, 6, 2, 7, 2, 4).transpose(0, 1, 3, 5, 7, 2, 4, 6).reshape(2, 5, 6, 7, 48), f32(2, 15, 12, 14, 4))
    add('windows_parted_and_joined', lambda x, w: (lambda y: jnp.einsum('bhwpqc,cd->bhwpqd', y, w).transpose(0, 1, 3, 2, 4, 5).reshape(2, 28, 35, 11))(x.reshape(2, 4, 7, 5, 7, 10).transpose(0, 1, 3, 2, 4, 5)), f32(2, 28, 35, 10), f32(10, 11))
    add('heads_in_the_middle', ein('bqghd,bkgd->bgqhk'), f32(2, 30, 3, 4, 16), f32(2, 33, 3, 16))
    add('rows_and_columns_of_a_grid', ein('bijhd,bikhd->bhijk'), f32(2, 9, 15, 3, 11), f32(2, 9, 15, 3, 11))
    add('triangles_of_pairs', ein('bikc,bjkc->bijc'), f32(1, 24, 25, 20), f32(1, 23, 25, 20))
    add('triangles_of_pairs_gradient', jax.grad(lambda a, b: (jnp.einsum('bikc,bjkc->bijc', a, b) ** 2).sum(), (0, 1)), f32(1, 24, 25, 20), f32(1, 23, 25, 20))
    add('outer_of_four', ein('i,j,k,l->ijkl'), f32(9), f32(10), f32(11), f32(12))
    add('polynomials_of_three_variables', lambda c, x: jnp.einsum('ijk,ni,nj,nk->n', c, *(x[:, d, None] ** jnp.arange(5) for d in range(3))), f32(5, 5, 5), f32(900, 3))
    add('bilinear_forms', ein('bi,oij,bj->bo'), f32(50, 13), f32(9, 13, 15), f32(50, 15))
    add('coupled_channels', ein('nui,nuj,ijk->nuk'), f32(60, 7, 5), f32(60, 7, 3), f32(5, 3, 7))
    add('couplings_with_weights', ein('nui,nvj,ijk,nuv->nuk'), f32(20, 6, 5), f32(20, 7, 3), f32(5, 3, 7), f32(20, 6, 7))
    add('moves_of_a_chain', ein('xay,abij,ybz->xijz'), f32(12, 4, 12), f32(4, 4, 2, 2), f32(12, 4, 12))
    add('effective_hamiltonian', ein('xap,abst,ysq,xty->pqb'), f32(10, 4, 10), f32(4, 4, 2, 2), f32(11, 2, 10), f32(10, 2, 11))
    add('corner_grown', ein('ab,aic,bjd,ijkl->ckdl'), f32(12, 12), f32(12, 3, 12), f32(12, 3, 12), f32(3, 3, 3, 3))
    add('six_on_a_cube', ein('abc,ade,bdf,cef,agh,gih->fi'), f32(6, 6, 6), f32(6, 6, 6), f32(6, 6, 6), f32(6, 6, 6), f32(6, 6, 6), f32(6, 6, 6))
    return P
