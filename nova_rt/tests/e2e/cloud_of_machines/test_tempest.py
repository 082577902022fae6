# SPDX-License-Identifier: Apache-2.0
"""The tempest plug-in passes on a cloud of virtual machines, too."""

from nova_rt.testing import full
from stack import tempest


@full.only
def test_the_plug_in_finds_what_it_expects_of_virtual_machines(stack, tmp_path):
    assert tempest.run(stack.site, tempest.OURS, tmp_path / 'results.xml') == 0
