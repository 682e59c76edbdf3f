"""XLA's option `xla_dump_to`, of XLA_FLAGS or of one compilation (`compiler_options`): a folder for the HLO of what is compiled.

jaxlib's own compiler writes such files, a plugin gets programs that are not HLO. So they are written here, under XLA's names: what JAX hands over
(`before_optimizations`) and what the plugin says that it runs (`after_optimizations`), of programs from JAX's compilation cache only the latter.
TENON_DUMP_DIR shows what the plugin does in between.
"""

import functools
import inspect
import itertools
import logging
import pathlib
import re

from jax._src import compilation_cache, compiler

from tenon_jax._compiling import computation, is_tenon

_log = logging.getLogger(__name__)
_numbers = itertools.count()


def _option(options, name: str):
    """The value in force: one compilation's goes before that of XLA_FLAGS."""
    given = dict(options.env_option_overrides).get(name)
    return getattr(options.executable_build_options.debug_options, name) if given is None else given


def _is_on(options, name: str) -> bool:
    return str(_option(options, name)).lower() in ('true', '1')


class _Dump:
    """The files of one program. `options` are those of its compilation."""

    def __init__(self, backend, options):
        self._platform = backend.platform
        self._options = options
        self.folder = str(_option(options, 'xla_dump_to')) if is_tenon(backend) else ''
        self._number = next(_numbers) if self.folder else None

    def write_given(self, module) -> None:
        """The module that JAX hands over."""
        hlo = functools.cache(lambda: computation(module))
        self._write(str(module.operation.attributes['sym_name']).strip('"'), 'before_optimizations', lambda: hlo().as_hlo_text(),
                    lambda: hlo().as_serialized_hlo_module_proto())

    def write_compiled(self, executable) -> None:
        for module in executable.hlo_modules():
            self._write(module.name, f'{self._platform}_after_optimizations', module.to_string, module.as_serialized_hlo_module_proto)

    def _write(self, module: str, stage: str, text, proto) -> None:
        """`text` and `proto` make the contents. A file that cannot be written costs a warning and no compilation."""
        if not re.search(str(_option(self._options, 'xla_dump_hlo_module_re')), module):
            return
        stem = pathlib.Path(self.folder) / f'module_{self._number:04d}.{re.sub("[^A-Za-z0-9_.-]", "_", module)}.{stage}'
        as_proto = _is_on(self._options, 'xla_dump_hlo_as_proto')
        try:
            stem.parent.mkdir(parents=True, exist_ok=True)
            if as_proto:
                pathlib.Path(f'{stem}.hlo.pb').write_bytes(proto())
            if not as_proto or _is_on(self._options, 'xla_dump_hlo_as_text'):
                pathlib.Path(f'{stem}.txt').write_text(text())
        except Exception as error:  # Not every program can be said in HLO.
            _log.warning('xla_dump_to: %s is not written: %s', stem, error)


def _compiling(compile_and_load):
    signature = inspect.signature(compile_and_load)

    @functools.wraps(compile_and_load)
    def compile_and_dump(*args, **kwargs):
        given = signature.bind(*args, **kwargs).arguments
        if 'backend' not in given or 'options' not in given:  # Wrapped by somebody who does not say what it takes.
            return compile_and_load(*args, **kwargs)
        dump = _Dump(given['backend'], given['options'])
        if dump.folder:
            dump.write_given(given['module'])
        executable = compile_and_load(*args, **kwargs)
        if dump.folder:
            dump.write_compiled(executable)
        return executable

    return compile_and_dump


def _loading(get_executable_and_time):
    signature = inspect.signature(get_executable_and_time)

    @functools.wraps(get_executable_and_time)
    def get_and_dump(*args, **kwargs):
        executable, time = get_executable_and_time(*args, **kwargs)
        if executable is not None:
            given = signature.bind(*args, **kwargs).arguments
            if 'backend' in given and 'compile_options' in given:
                dump = _Dump(given['backend'], given['compile_options'])
                if dump.folder:
                    dump.write_compiled(executable)
        return executable, time

    return get_and_dump


@functools.cache  # Once.
def install() -> None:
    """Lets JAX write what it compiles with Tenon, or takes from its cache."""
    compiler.backend_compile_and_load = _compiling(compiler.backend_compile_and_load)
    compilation_cache.get_executable_and_time = _loading(compilation_cache.get_executable_and_time)
