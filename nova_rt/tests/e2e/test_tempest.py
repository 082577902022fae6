# SPDX-License-Identifier: Apache-2.0
"""The tempest plug-in passes on a cloud of containers; ``make test-tempest`` counts its tests."""

from stack import tempest


def test_the_plug_in_finds_what_it_expects_of_containers(stack, tmp_path):
    assert tempest.run(stack.site, tempest.OURS, tmp_path / 'results.xml') == 0
