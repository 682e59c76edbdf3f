"""Tags the wheel for this platform and any Python 3: it carries a shared library that needs no Python. The version is that of the checkout.

The packages below this folder have links to this file.
"""

import pathlib

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel

here = pathlib.Path(__file__).resolve().parent


class PlatformWheel(bdist_wheel):
    def get_tag(self):
        return 'py3', 'none', super().get_tag()[2]


class BinaryDistribution(Distribution):
    def has_ext_modules(self):
        return True


# The scripts that build wheels put the file beside this one; `pip install -e` finds it in the checkout.
version = next(folder / 'VERSION' for folder in (here, here.parent) if (folder / 'VERSION').is_file())
setup(version=version.read_text(encoding='utf-8').strip(), distclass=BinaryDistribution, cmdclass={'bdist_wheel': PlatformWheel})
