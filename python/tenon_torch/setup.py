"""Tags the wheel for this platform and any Python 3: it carries a shared library that needs no Python."""

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel


class PlatformWheel(bdist_wheel):
    def get_tag(self):
        return 'py3', 'none', super().get_tag()[2]


class BinaryDistribution(Distribution):
    def has_ext_modules(self):
        return True


setup(distclass=BinaryDistribution, cmdclass={'bdist_wheel': PlatformWheel})
