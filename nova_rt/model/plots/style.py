# SPDX-License-Identifier: Apache-2.0
"""The look that all pictures share."""

import pathlib
from typing import Any

import matplotlib as mpl
from matplotlib import figure

from nova_rt.model import checks

# Okabe and Ito's colours, which colour-blind readers can tell apart.
COLOURS = ('#0072B2', '#D55E00', '#009E73', '#CC79A7', '#E69F00', '#56B4E9',
           '#7A5195', '#8C564B')
INK = '#22272e'
FAINT = '#c9ced6'
BAD = '#b3261e'

_RC: dict[Any, Any] = {
    'font.family': 'DejaVu Sans', 'font.size': 10.5,
    'axes.edgecolor': '#8a929c', 'axes.labelcolor': INK,
    'axes.titlecolor': INK, 'axes.titlesize': 12, 'axes.titleweight': 'bold',
    'axes.titlelocation': 'left', 'axes.spines.top': False,
    'axes.spines.right': False, 'axes.grid': True, 'axes.axisbelow': True,
    'grid.color': '#e6e9ed', 'grid.linewidth': 0.8, 'text.color': INK,
    'xtick.color': '#57606a', 'ytick.color': '#57606a',
    'legend.frameon': False, 'svg.fonttype': 'path', 'svg.hashsalt': 'nova',
    'lines.linewidth': 2.0, 'figure.facecolor': 'white',
}


def look() -> Any:
    """Return a context in which pictures are drawn and saved in this look."""
    return mpl.rc_context(_RC)


def canvas(rows: int = 1, columns: int = 1, width: float = 8.0,
           height: float = 4.6, **options: Any) -> tuple[Any, Any]:
    """Return a figure and its axes."""
    drawn = figure.Figure(figsize=(width, height), layout='constrained')
    return drawn, drawn.subplots(rows, columns, **options)


def save(drawn: Any, base: str) -> tuple[str, str]:
    """Write a figure as SVG and PNG and return their paths.

    :param base: path without the ending
    :raises checks.ModelError: if it cannot be written
    """
    paths = tuple(str(pathlib.Path(f'{base}{end}'))
                  for end in ('.svg', '.png'))
    try:
        drawn.savefig(paths[0], metadata={'Date': None})
        # The layout stays: finding it takes a third of the time.
        drawn.set_layout_engine('none')
        drawn.savefig(paths[1], dpi=160)
    except OSError as exc:
        raise checks.ModelError(
            f'{exc.filename} cannot be written: {exc.strerror}.'
        ) from None
    return paths[0], paths[1]


def colour(index: int) -> str:
    """Return the colour of a series."""
    return COLOURS[index % len(COLOURS)]
