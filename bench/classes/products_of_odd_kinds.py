"""Products of matrices of sizes and types that nobody tuned: primes, a row or column, batches of vectors, contracted dims apart, complex, doubles' halves, integers, both sides turned."""
import numpy as np
from by_value import Programs, Random

FACTOR = 1024.0


def programs(jax):
    jnp, lax = jax.numpy, jax.lax
    P, R = Programs(), Random(16)
    add, f32 = P.add, R.f32
    ein = lambda spec, **k: lambda *a: jnp.einsum(spec, *a, **k)

    for m, k, n in ((7, 1000, 11), (97, 89, 83), (1, 777, 1001), (1001, 777, 1), (3, 5000, 3), (500, 3, 500), (257, 129, 65), (31, 511, 255), (2, 300, 700), (13, 64, 1500)):
        add(f'{m}x{k}x{n}', lambda a, b: a @ b, f32(m, k), f32(k, n))
        add(f'{m}x{k}x{n}_both_turned', lambda a, b: a.T @ b.T, f32(k, m), f32(n, k))
    for name, make in (('bf16', R.bf16), ('f16', R.f16), ('c64', R.c64)):
        for m, k, n in ((97, 89, 83), (1, 777, 501), (501, 777, 1), (7, 1000, 11), (128, 256, 100), (5, 33, 400)):
            add(f'{name}_{m}x{k}x{n}', lambda a, b: a @ b, make(m, k), make(k, n))
        add(f'{name}_batches', ein('bij,bjk->bik'), make(37, 11, 13), make(37, 13, 9))
        add(f'{name}_batches_of_rows', ein('bj,bjk->bk'), make(37, 40), make(37, 40, 30))
        add(f'{name}_gram', lambda a: a.T @ a, make(301, 37))
    add('bf16_into_f32', lambda a, b: lax.dot(a, b, preferred_element_type=jnp.float32), R.bf16(97, 89), R.bf16(89, 83))
    add('bf16_times_f32', lambda a, b: lax.dot(a.astype(jnp.float32), b), R.bf16(97, 89), f32(89, 83))
    for name, high in (('int8', 127), ('int16', 1000), ('int32', 10000), ('uint8', 255), ('uint32', 100000)):
        make = lambda *s: R.randint(0 if name[0] == 'u' else -high, high, s).astype(name)
        add(f'{name}_97x89x83', lambda a, b: lax.dot(a, b, preferred_element_type=jnp.int32 if a.dtype.itemsize == 1 else None), make(97, 89), make(89, 83))
        add(f'{name}_1x500x300', lambda a, b: lax.dot(a, b, preferred_element_type=jnp.int32 if a.dtype.itemsize == 1 else None), make(1, 500), make(500, 300))
    add('flags_by_any', lambda a, b: (a[:, :, None] & b[None]).any(1), R.rand(60, 61) < .1, R.rand(61, 62) < .1)
    add('flags_counted', lambda a, b: a.astype(jnp.float32) @ b.astype(jnp.float32), R.rand(150, 161) < .1, R.rand(161, 142) < .1)
    add('hermitian_gram', lambda a: a.conj().T @ a, R.c64(200, 33))
    add('real_times_complex', lambda a, b: a @ b, f32(90, 91), R.c64(91, 50))
    add('batches_in_the_middle', ein('ibj,jbk->ibk'), f32(15, 23, 17), f32(17, 23, 19))
    add('batches_on_both_ends', ein('aijb,ajkb->aikb'), f32(5, 9, 8, 30), f32(5, 8, 7, 30))
    add('two_batches_crossed', ein('abij,bajk->baik'), f32(6, 7, 10, 12), f32(7, 6, 12, 9))
    add('contracted_apart', ein('iajb,akbl->ijkl'), f32(9, 8, 10, 7), f32(8, 11, 7, 6))
    add('contracted_first_and_last', ein('aibj,bka->ijk'), f32(20, 9, 21, 8), f32(21, 10, 20))
    add('vectors_times_their_matrices', ein('bi,bij->bj'), f32(300, 12), f32(300, 12, 14))
    add('matrices_times_their_vectors', ein('bij,bj->bi'), f32(300, 12, 14), f32(300, 14))
    add('forms_of_each', ein('bi,bij,bj->b'), f32(300, 12), f32(300, 12, 12), f32(300, 12))
    add('outer_of_each', ein('bi,bj->bij'), f32(300, 12), f32(300, 14))
    add('outer_of_each_summed', ein('bi,bj->ij'), f32(3000, 5), f32(3000, 6))
    add('weighted_grams', ein('ni,n,nj->ij'), f32(1001, 13), f32(1001), f32(1001, 13))
    add('weighted_grams_of_many', ein('ni,bn,nj->bij'), f32(301, 9), R.share(17, 301), f32(301, 9))
    add('diagonals_of_products', ein('bij,bji->b'), f32(100, 13, 15), f32(100, 15, 13))
    add('diagonal_between', lambda a, d, b: (a * d) @ b, f32(101, 67), f32(67), f32(67, 51))
    add('square_thrice', lambda a: a @ a @ a, f32(41, 41))
    add('sandwich', lambda a, s: a @ s @ a.T, f32(30, 47), f32(47, 47))
    add('sandwiches', lambda a, s: a @ s @ jnp.swapaxes(a, -1, -2), f32(60, 5, 9), f32(60, 9, 9))
    add('triangle_times', lambda a, b: jnp.tril(a) @ b, f32(70, 70), f32(70, 33))
    add('symmetric_times', lambda a, b: (a + a.T) @ b, f32(70, 70), f32(70, 33))
    add('blocks_times', ein('gij,ngj->ngi'), f32(9, 14, 13), f32(120, 9, 13))
    add('kronecker_times', lambda a, b, x: (a @ x.reshape(21, 23) @ b.T).ravel(), f32(20, 21), f32(22, 23), f32(483))
    add('distances', lambda a, b: (a * a).sum(1)[:, None] - 2 * a @ b.T + (b * b).sum(1), f32(151, 19), f32(87, 19))
    add('three_rows_through_a_large_one', lambda a, b: a @ b, f32(3, 1021), f32(1021, 2039))
    add('forms_of_each_of_16', ein('bi,bij,bj->b'), f32(300, 16), f32(300, 16, 16), f32(300, 16))
    add('c64_300x90_by_a_row', lambda x, a: x @ a, R.c64(300), R.c64(300, 90))
    add('large_c64_by_a_row', lambda x, a: x @ a, R.c64(1000), R.c64(1000, 1000))
    add('500x16x500', lambda a, b: a @ b, f32(500, 16), f32(16, 500))
    add('large_691', lambda a, b: a @ b, f32(691, 691), f32(691, 691))
    add('large_bf16_500', lambda a, b: a @ b, R.bf16(500, 500), R.bf16(500, 500))
    add('large_c64_300', lambda a, b: a @ b, R.c64(300, 300), R.c64(300, 300))
    add('large_tall', lambda a, b: a @ b, f32(100003, 7), f32(7, 5))
    add('large_tall_gram', lambda a: a.T @ a, f32(100003, 7))
    add('large_thin_gram', lambda a: a.T @ a, f32(10007, 61))
    word = lambda *s: R.randint(-1000, 1000, s).astype(np.int16)
    add('int16_1x700x260', lambda a, b: a @ b, word(1, 700), word(700, 260))
    add('uint16_250x600x1', lambda a, b: a @ b, word(250, 600).astype(np.uint16), word(600, 1).astype(np.uint16))
    add('int16_vectors_times_their_matrices', ein('bi,bij->bj'), word(50, 40), word(50, 40, 70))
    into_words = lambda spec: lambda a, b: jnp.einsum(spec, a, b, preferred_element_type=jnp.int32)
    add('bytes_of_experts', into_words('bi,bij->bj'), R.u8(4, 700), R.u8(4, 700, 900))
    add('int8_of_experts', into_words('bi,bij->bj'), R.randint(-127, 128, (6, 512)).astype(np.int8), R.randint(-127, 128, (6, 512, 640)).astype(np.int8))
    add('words_of_experts', into_words('bi,bij->bj'), word(4, 600), word(4, 600, 700))
    outer = lambda turned: lambda a, b: (lambda y: y.T if turned else y)(a[:, None] * b[None])
    add('f32_outer_turned', outer(True), f32(501), f32(777))
    add('c64_outer_turned', outer(True), R.c64(301), R.c64(407))
    add('c64_outer_of_gradient', jax.grad(lambda w, x: jnp.sum(jnp.abs(x @ w) ** 2)), R.c64(301, 203), R.c64(301))
    return P
