"""What JAX tells of a compiled program: its text after optimisation, what it costs, the memory that it takes; beside the built-in backend."""

import re

import jax
import jax.numpy as jnp
import numpy as np


def train(w, x):
    return w - 0.1 * jax.grad(lambda w: jnp.mean(jnp.tanh(x @ w)**2))(w)


def compiled(platform, function=train, **options):
    with jax.default_device(jax.devices(platform)[0]):
        return jax.jit(function, **options).lower(jnp.ones((128, 64)), jnp.ones((256, 128))).compile()


def test_the_text_is_that_of_the_optimized_program():

    def f(w, x):
        y = jnp.negative(jnp.negative(jnp.tanh(x @ w)))  # nothing, once it is simplified
        return (y * 2 + 1).sum(axis=1)

    text = compiled('cpu', f).as_text()
    assert text.startswith('HloModule')
    assert 'negate(' not in text, text
    fused = re.findall(r'^%?fusion_\d+.*?^}', text, re.M | re.S)
    assert any('tanh(' in body and 'reduce(' in body for body in fused), text
    assert re.search(r'call\(.*to_apply=%?fusion_\d', text), text


def test_the_text_names_sources():
    text = compiled('cpu').as_text()
    line = next(line for line in text.splitlines() if ' tanh(' in line)
    assert re.search(r'op_name="[^"]*tanh', line), line
    where = re.search(r'source_file="([^"]*)"', text) or re.search(r'"([^"]*test_inspection\.py)"', text)
    assert where and where.group(1).endswith('test_inspection.py'), line


def test_costs_have_the_names_and_sizes_of_the_builtin_backends():
    ours, builtin = (compiled(platform).cost_analysis() for platform in ('cpu', 'xla_cpu'))
    missing = set(builtin) - set(ours)
    assert not missing, missing
    np.testing.assert_allclose(ours['flops'], builtin['flops'], rtol=0.01)
    assert ours['transcendentals'] == builtin['transcendentals']
    assert ours['utilization1{}'] == 2  # x is read by the product forwards and the one backwards
    assert 0 < ours['optimal_seconds'] < 1


def test_costs_of_lowered_programs_are_the_builtin_backends():
    product = jax.jit(lambda a, b: a @ b).lower(np.ones((8, 8), np.float32), np.ones((8, 8), np.float32))
    assert product.cost_analysis()['flops'] == 2 * 8**3


def test_memory_is_that_of_the_arguments_and_results():
    ours, builtin = (compiled(platform, donate_argnums=0).memory_analysis() for platform in ('cpu', 'xla_cpu'))
    for size in ('argument_size_in_bytes', 'output_size_in_bytes', 'alias_size_in_bytes'):
        assert getattr(ours, size) == getattr(builtin, size), size
    assert ours.temp_size_in_bytes >= 256 * 64 * 4  # what the gradient needs of the forward product
    assert ours.generated_code_size_in_bytes > 0


def test_programs_are_written_where_xlas_options_say(tmp_path):

    def twice_negated(x, y):
        return jnp.negative(jnp.negative(jnp.sin(x))).sum() + y.sum()

    def written(name, **options):
        compiled('cpu', twice_negated, compiler_options={'xla_dump_to': str(tmp_path / name), **options})
        return {path.name.split('.', 1)[1]: path for path in sorted((tmp_path / name).glob('*'))}

    texts = written('texts')
    assert list(texts) == ['jit_twice_negated.before_optimizations.txt', 'jit_twice_negated.cpu_after_optimizations.txt']
    before, after = (path.read_text() for path in texts.values())
    assert before.count(' negate(') == 2 and ' negate(' not in after and ' sine(' in after
    protos = written('protos', xla_dump_hlo_as_proto=True)
    assert list(protos) == ['jit_twice_negated.before_optimizations.hlo.pb', 'jit_twice_negated.cpu_after_optimizations.hlo.pb']
    assert all(b'jit_twice_negated' in path.read_bytes() for path in protos.values())
    assert not written('others', xla_dump_hlo_module_re='another')
    (tmp_path / 'file').write_text('')
    assert written('file') == {}, 'a folder that cannot be made costs no compilation'


def test_compiler_wrapped_without_names_is_called_as_it_is():
    from tenon_jax import _dumps
    assert _dumps._compiling(lambda *args, **kwargs: (args, kwargs))(1, options=2) == ((1,), {'options': 2})
