"""The cost of programs that are not compiled yet (`jax.jit(f).lower(...).cost_analysis()`).

JAX asks jaxlib's own client what a program costs, which only counts what is in its HLO, and leaves plugins out. For Tenon it asks a client of jaxlib's, too.
"""

import functools

from jax._src.interpreters import pxla
from jax._src.lib import _jax, xla_client

from tenon_jax._compiling import is_tenon


@functools.cache
def _counting_client():
    """Made for the first program that somebody asks about; it runs nothing."""
    return xla_client.make_cpu_client()


def _analysing(cost_analysis):
    @functools.wraps(cost_analysis)
    def analyse_here_too(self):
        if not is_tenon(self.compile_args['backend']):
            return cost_analysis(self)
        return _jax.hlo_module_cost_analysis(_counting_client(), self.hlo().as_hlo_module())

    return analyse_here_too


@functools.cache  # Once.
def install() -> None:
    pxla.MeshComputation.cost_analysis = _analysing(pxla.MeshComputation.cost_analysis)
