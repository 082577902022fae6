# SPDX-License-Identifier: Apache-2.0
"""What is left of nova-rt in the files of one machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from oslo_config import cfg

import nova_rt.conf
from nova_rt.removal import remnants

_SCHEDULER = ('available_filters', 'enabled_filters', 'weight_classes')
_LOADED = ('nova_rt.', 'RTShareFilter')
_EGG = 'egg:nova-rt'
# What the guide to installation, DevStack's plug-in and Kolla's role put there.
_FILES = ('etc/systemd/system/nova-rt-*', 'etc/systemd/system/*.d/nova-rt.conf',
          'etc/systemd/system/machine.slice.d/10-rt.conf', 'etc/sysctl.d/*nova-rt*',
          'etc/default/grub.d/nova-rt.cfg')


def left(conf: cfg.ConfigOpts, root: Path = Path('/')) -> Iterator[remnants.Remnant]:
    """Yield what is left on this machine.

    :param conf: Nova's, with group ``[rt]`` registered
    :param root: the directory that its files are below
    """
    yield from _in_paste(conf)
    yield from _in_options(conf)
    for pattern in _FILES:
        for path in sorted(root.glob(pattern)):
            yield remnants.Remnant(str(path), 'a file of nova-rt', f'rm {path}')


def _in_paste(conf: cfg.ConfigOpts) -> Iterator[remnants.Remnant]:
    name = conf.wsgi.api_paste_config
    path = Path(conf.find_file(name) or name)
    if path.is_file() and _EGG in path.read_text():
        yield remnants.Remnant(str(path), f'it uses {_EGG}',
                               f'nova-rt-manage paste remove {path}')


def _in_options(conf: cfg.ConfigOpts) -> Iterator[remnants.Remnant]:
    for option in nova_rt.conf.OPTS:
        file = _set_in(conf, nova_rt.conf.GROUP, option.dest)
        if file:
            yield _option(file, nova_rt.conf.GROUP, option.dest)
    for name in _SCHEDULER:
        if any(word in str(conf.filter_scheduler[name]) for word in _LOADED):
            yield _option(_set_in(conf, 'filter_scheduler', name) or 'nova.conf',
                          'filter_scheduler', name)


def _set_in(conf: cfg.ConfigOpts, group: str, name: str) -> str:
    """Return the file that sets an option; empty if none does."""
    where = conf.get_location(name, group)
    return where.detail if where and where.location is cfg.Locations.user else ''


def _option(file: str, group: str, name: str) -> remnants.Remnant:
    return remnants.Remnant(file, f'[{group}] {name}', f'edit {file}')
