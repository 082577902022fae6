# SPDX-License-Identifier: Apache-2.0
"""Results as CSV and pictures in one folder."""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
import csv
import dataclasses
from pathlib import Path
import time
from typing import Any

import numpy as np

from nova_rt.model.plots import style


@dataclasses.dataclass(frozen=True)
class Folder:
    """Where the results of an experiment go.

    :ivar reuse: whether to reuse earlier measurements
    """

    path: Path
    reuse: bool = False

    def samples(self, name: str,
                measure: Callable[[], Mapping[str, Any]]) -> dict[str, Any]:
        """Measure and save every sample, or return the saved samples."""
        path = self.path / 'samples' / f'{name}.npz'
        if not (self.reuse and path.exists()):
            arrays = measure()
            path.parent.mkdir(parents=True, exist_ok=True)
            np.savez_compressed(path, **arrays)
        with np.load(path) as kept:
            return dict(kept)

    def table(self, name: str, header: Sequence[str],
              rows: Iterable[Sequence[object]]) -> None:
        """Write a table as CSV; floats with six digits."""
        self.path.mkdir(parents=True, exist_ok=True)
        path = self.path / f'{name}.csv'
        with path.open('w', newline='') as file:
            writer = csv.writer(file, lineterminator='\n')
            writer.writerow(header)
            for row in rows:
                writer.writerow([f'{cell:.6g}' if isinstance(cell, float)
                                 else cell for cell in row])
        print(f'Written to {path}')

    def picture(self, name: str, drawn: Any) -> None:
        """Write a picture as SVG and PNG. Call it within ``style.look()``."""
        self.path.mkdir(parents=True, exist_ok=True)
        print('Drawn in', *style.save(drawn, str(self.path / name)))


class Clock:
    """Prints the time since the start with each message."""

    def __init__(self) -> None:
        self._began = time.monotonic()

    def say(self, what: str) -> None:
        """Print what is done."""
        print(f'[{time.monotonic() - self._began:5.0f} s] {what}', flush=True)
