# SPDX-License-Identifier: Apache-2.0
"""What tacker-rt makes of a descriptor, run as a user runs it."""

import contextlib
import dataclasses
import io
from pathlib import Path
import tempfile
from typing import Any

import yaml

from tacker_rt import command
from tacker_rt import profile

TYPES = Path(profile.__file__).parent / profile.DEFINITIONS


@dataclasses.dataclass(frozen=True)
class Outcome:
    """Either templates, by name, or sentences."""

    status: int
    templates: dict[str, dict[str, Any]]
    sentences: str

    def servers(self) -> dict[str, dict[str, Any]]:
        """Return the properties of all servers."""
        return {name: resource['properties']
                for template in self.templates.values()
                for name, resource in template['resources'].items()
                if resource['type'] == 'OS::Nova::Server'}

    def flavors(self) -> dict[str, dict[str, Any]]:
        """Return the properties of all flavors, by VDU."""
        return {name.removesuffix('_flavor'): resource['properties']
                for template in self.templates.values()
                for name, resource in template['resources'].items()
                if resource['type'] == 'OS::Nova::Flavor'}

    def reservation(self, vdu: str) -> dict[str, Any]:
        """Return runtime and period of a VDU, wherever they are written."""
        found = {}
        specs = (self.flavors().get(vdu) or {}).get('extra_specs') or {}
        hints = self.servers()[vdu].get('scheduler_hints') or {}
        for name in ('cpu.rt_runtime_us', 'cpu.rt_period_us'):
            for source, key in ((specs, f'hw:{name}'), (hints, name)):
                if key in source:
                    found[name] = source[key]
        return found


def of(text: str, *arguments: str, name: str = 'given.yaml') -> Outcome:
    """Return the outcome of ``tacker-rt translate``.

    An exception that the command does not handle is one of the test.
    """
    with tempfile.TemporaryDirectory() as directory:
        path, output = Path(directory, name), Path(directory, 'out')
        output.mkdir()
        path.write_text(text)
        (path.parent / 'nova_rt_nfv_types.yaml').symlink_to(TYPES)
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            status = command.main(['translate', str(path), '--output', str(
                output / 'main.yaml'), *arguments])
        return Outcome(status, {
            each.name: yaml.safe_load(each.read_text())
            for each in output.iterdir()}, said.getvalue())
