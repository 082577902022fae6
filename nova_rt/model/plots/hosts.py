# SPDX-License-Identifier: Apache-2.0
"""The reservations on the pCPUs of hosts."""

from collections.abc import Mapping
from typing import Any

from nova_rt import bandwidth
from nova_rt import fleet
from nova_rt import shares
from nova_rt.model import checks
from nova_rt.model.plots import style

MAX_HOSTS = 12
# Bars of more pCPUs are too narrow for text across.
MOST_WIDE = 17


def draw(hosts: Mapping[str, shares.HostShares],
         placements: Mapping[str, fleet.Placement], policy: str) -> Any:
    """Return a figure with a stack of reservations on each pCPU.

    :raises checks.ModelError: if there are too many hosts for a picture
    """
    if len(hosts) > MAX_HOSTS:
        raise checks.ModelError(f'{len(hosts)} hosts do not fit a picture: '
                                f'{MAX_HOSTS} do.')
    widest = max(len(host.capacity) for host in hosts.values())
    drawn, axes = style.canvas(
        len(hosts), 1, width=min(16, max(6, 0.8 * widest + 2)),
        height=1 + 2.6 * len(hosts), squeeze=False, sharey=True)
    colours = {name: style.colour(i) for i, name in enumerate(placements)}
    for axis, (name, host) in zip(axes[:, 0], hosts.items(), strict=True):
        here = {server: placed for server, placed in placements.items()
                if placed.host == name}
        _host(axis, host, here, colours)
        axis.set_title(f'{name}: {bandwidth.cpus(host.rt_share_used):.2f} of '
                       f'{bandwidth.cpus(host.rt_share):.2f} CPUs reserved, '
                       f'{policy}')
    return drawn


def _host(axis: Any, host: shares.HostShares,
          placements: Mapping[str, fleet.Placement],
          colours: Mapping[str, str]) -> None:
    tops = [0.0] * len(host.capacity)
    for name, placed in placements.items():
        part = 100 * bandwidth.cpus(placed.wanted.bandwidth)
        for pcpu in placed.pcpus:
            axis.bar(pcpu, part, 0.82, tops[pcpu], color=colours[name],
                     edgecolor='white', linewidth=1.2)
            _label(axis, pcpu, tops[pcpu], part, name[:8], len(tops))
            tops[pcpu] += part
    for pcpu, most in enumerate(host.capacity):
        cap = 100 * bandwidth.cpus(most)
        axis.plot([pcpu - 0.45, pcpu + 0.45], [cap, cap], color=style.BAD,
                  lw=1.6)
    axis.set(ylim=(0, 104), xlim=(-0.6, len(host.capacity) - 0.4),
             xticks=range(len(host.capacity)) if len(host.capacity) <= 32
             else range(0, len(host.capacity), 8), xlabel='pCPU',
             ylabel='bandwidth (%)')
    axis.grid(axis='x', visible=False)


def _label(axis: Any, pcpu: int, bottom: float, part: float, name: str,
           pcpus: int) -> None:
    """Name a reservation in its bar, if there is room."""
    text, size, rotation, least = f'{name}\n{part:.3g}%', 8.5, 0, 8.0
    if pcpus > MOST_WIDE:
        text, size, rotation, least = name, 6.5, 90, 3.2 * len(name)
    if part >= least:
        axis.text(pcpu, bottom + part / 2, text, ha='center', va='center',
                  color='white', fontsize=size, rotation=rotation, linespacing=1.05)
