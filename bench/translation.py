# SPDX-License-Identifier: Apache-2.0
"""A descriptor translated by heat-translator, with and without our classes.

Parsing and translation, in one process. On one side, tosca-parser does not find
our extension, and heat-translator has its own classes.
"""

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
import functools
from importlib.metadata import EntryPoint
import logging
import os
from pathlib import Path
import tempfile
from typing import Any

from stevedore import extension
from toscaparser.tosca_template import ToscaTemplate
from translator.hot import translate_node_templates
from translator.hot.tosca_translator import TOSCATranslator
import yaml

from bench import measure
from tacker_rt import profile
from tacker_rt import translation

ROUNDS = 25
VDUS = (1, 20)
MS = 1e3
_TYPES = Path(profile.__file__).parent / profile.DEFINITIONS
_ENTRY_POINTS = extension.ExtensionManager.list_entry_points
_VDU = '''
    CP{number}:
      type: tosca.nodes.nfv.CP.Tacker
      requirements:
        - virtualLink:
            node: VL
        - virtualBinding:
            node: VDU{number}
    VDU{number}:
      type: bench.VDU
      capabilities:
        nfv_compute:
          properties:
            num_cpus: 2
            mem_size: 512 MB
            disk_size: 1 GB{allocation}
      properties:
        name: vdu{number}
        image: busybox
        flavor: small
        key_name: operator
        availability_zone: nova{hints}
'''
_ALLOCATION = '''
            cpu_allocation:
              cpu.rt_runtime_us: 30000
              cpu.rt_period_us: 100000'''
_HINTS = '''
        scheduler_hints:
          cpu.rt_runtime_us: 30000
          cpu.rt_period_us: 100000'''
_HEAD = f'''tosca_definitions_version: tosca_simple_profile_for_nfv_1_0_0
imports: [{_TYPES}]
node_types:
  bench.VDU:
    derived_from: tosca.nodes.nfv.VDU.Tacker
    properties:
      scheduler_hints:
        type: map
        required: false
topology_template:
  node_templates:
    VL:
      type: tosca.nodes.nfv.VL
      properties:
        vendor: nova-rt
        network_name: internal'''


def measurements() -> Iterator[measure.Measurement]:
    """Yield descriptors of few and many VDUs, without and with reservations.

    heat-translator alone does not support cpu_allocation; hints written as a
    property give the same template.
    """
    for vdus in VDUS:
        plain = _descriptor(vdus)
        yield _compared(f'Translation of {vdus} VDU(s), none reserving',
                        vdus, plain, plain)
        yield _compared(f'Translation of {vdus} VDU(s), all reserving', vdus,
                        _descriptor(vdus, allocation=_ALLOCATION),
                        _descriptor(vdus, hints=_HINTS))


def _descriptor(vdus: int, allocation: str = '', hints: str = '') -> str:
    return _HEAD + ''.join(
        _VDU.format(number=number, allocation=allocation, hints=hints)
        for number in range(vdus))


def _compared(name: str, vdus: int, ours: str, theirs: str,
              ) -> measure.Measurement:
    repeats = max(1, 20 // vdus)
    with tempfile.TemporaryDirectory() as directory, _quiet():
        paths = {}
        for side, text in (('ours', ours), ('theirs', theirs)):
            paths[side] = Path(directory, f'{side}.yaml')
            paths[side].write_text(text)
        _check_alike(paths)
        try:
            seconds = measure.in_turn(
                {side: measure.repeated(
                    functools.partial(_translated, path), repeats)
                 for side, path in paths.items()},
                ROUNDS, before={'ours': _with_us, 'theirs': _without_us})
        finally:
            _with_us()
    measurement = measure.compared(
        name, 'heat-translator alone', seconds['ours'], seconds['theirs'],
        'ms', MS / repeats)
    return measure.with_aims(measurement, measure.Aim(
        'at most 5% slower', measure.ratio_of(measurement) <= 1.05))


def _check_alike(paths: dict[str, Path]) -> None:
    _with_us()
    ours = _translated(paths['ours'])
    _without_us()
    theirs = _translated(paths['theirs'])
    if yaml.safe_load(ours) != yaml.safe_load(theirs):
        raise RuntimeError('The two sides translate to different templates: '
                           'they would not be compared fairly.')


def _translated(path: Path) -> str:
    with open(os.devnull, 'w') as nowhere, contextlib.redirect_stdout(nowhere):
        template: str = TOSCATranslator(
            ToscaTemplate(str(path), {}), {}).translate()
    return template


def _with_us() -> None:
    _list_entry_points(_ENTRY_POINTS)
    translation.install()


def _without_us() -> None:
    _list_entry_points(lambda manager: [
        point for point in _ENTRY_POINTS(manager)
        if not point.value.startswith(profile.__name__)])
    types = translate_node_templates.TOSCA_TO_HOT_TYPE
    for name, kind in types.items():
        if kind in translation.OURS:
            types[name] = kind.__bases__[-1]


def _list_entry_points(
        method: Callable[[extension.ExtensionManager[Any]], list[EntryPoint]],
        ) -> None:
    """Make stevedore, and so tosca-parser, see only these entry points."""
    setattr(extension.ExtensionManager, 'list_entry_points', method)  # noqa: B010


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)
