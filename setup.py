# SPDX-License-Identifier: Apache-2.0
"""Builds rt-init, which is written in C, beside the Python packages."""

import pathlib
import subprocess

import setuptools
from setuptools.command import build_py

RT_INIT = 'nova_rt/virt/rt_init/rt-init'


class BuildWithRTInit(build_py.build_py):
    """Compiles rt-init statically, so that it runs in any container."""

    def run(self):
        super().run()
        base = pathlib.Path('.' if self.editable_mode else self.build_lib)
        binary = base / RT_INIT
        binary.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(['cc', '-static', '-Os', '-Wall', '-o', binary,
                        RT_INIT + '.c'], check=True)


class BinaryDistribution(setuptools.Distribution):
    """A distribution for one architecture."""

    def has_ext_modules(self):
        return True

    def get_command_class(self, command):
        # Not with cmdclass, which pbr replaces.
        if command == 'build_py':
            return BuildWithRTInit
        return super().get_command_class(command)


setuptools.setup(setup_requires=['pbr>=6.0'], pbr=True,
                 distclass=BinaryDistribution)
