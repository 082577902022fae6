# SPDX-License-Identifier: Apache-2.0
"""How long evictions take, beside RT-Kube's Table VII."""

from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from experiments import evictions
from experiments import output
from experiments import recovery_pictures
from nova_rt.model.plots import style


def draw(folder: output.Folder, found: Mapping[str, Sequence[evictions.Sample]]) -> None:
    """Draw each sample."""
    with style.look():
        folder.picture('rtkube-evictions', _points(found))


def _points(found: Mapping[str, Sequence[evictions.Sample]]) -> Any:
    drawn, axis = style.canvas(1, 1, 10, 2.8)
    recovery_pictures.scatter(axis, found, {
        'stopped': 'less critical one stopped', 'remedy': 'more lent to the critical one'},
        evictions.KINDS)
    return drawn
