"""Tenon's plugins as devices of PyTorch/XLA.

With the package installed, ``PJRT_DEVICE=TENON`` makes Tenon's CPU plugin the device that ``torch_xla.device()`` gives, and ``PJRT_DEVICE=TENON_VULKAN`` the
GPU plugin. ``TENON_PLUGIN`` and ``TENON_VULKAN_PLUGIN`` name other files than those in the package; ``TENON_NUM_DEVICES=N`` gives N devices to
programs that shard arrays over them (``torch_xla.runtime.use_spmd``).
"""

import os
import pathlib

from torch_xla.experimental.plugins import DevicePlugin

__all__ = ['CpuPlugin', 'VulkanPlugin']


def _library(variable: str, name: str) -> str:
    """The file that ``variable`` names, or the package's own. FileNotFoundError, naming it, when it is not there."""
    given = os.environ.get(variable, '')
    # Other programs of Tenon take names of plugins there, too; those leave the package's own.
    is_file = '/' in given or given.endswith('.so')
    path = pathlib.Path(given) if is_file else pathlib.Path(__file__).parent / 'lib' / name
    if not path.is_file():
        raise FileNotFoundError(f"Tenon's plugin is not at {path}; set {variable} to its file or reinstall tenon-torch")
    return str(path)


class CpuPlugin(DevicePlugin):
    """``PJRT_DEVICE=TENON``."""

    def library_path(self) -> str:
        return _library('TENON_PLUGIN', 'pjrt_plugin_tenon.so')

    def configure_single_process(self) -> None:
        """One process has all devices already."""


class VulkanPlugin(CpuPlugin):
    """``PJRT_DEVICE=TENON_VULKAN``."""

    def library_path(self) -> str:
        return _library('TENON_VULKAN_PLUGIN', 'pjrt_plugin_tenon_vulkan.so')
