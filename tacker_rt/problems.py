# SPDX-License-Identifier: Apache-2.0
"""Problems in a descriptor: what is wrong, and where."""

from collections.abc import Iterable
import dataclasses

from nova_rt import reservation

Path = tuple[str | int, ...]
"""Keys and indexes that lead from the top of a document to a value."""


@dataclasses.dataclass(frozen=True, slots=True)
class Problem:
    """One problem; the sentence also says what to write instead."""

    path: Path
    sentence: str

    def below(self, path: Path) -> 'Problem':
        """Return the problem as seen from further up."""
        return dataclasses.replace(self, path=path + self.path)


class InvalidDescriptorError(reservation.InvalidReservationError):
    """A descriptor with an invalid or unreadable reservation."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__(' '.join(
            f'{dotted(problem.path)}: {problem.sentence}' if problem.path
            else problem.sentence for problem in self.problems))


def dotted(path: Path) -> str:
    """Return a path as people write it; a key with a dot is quoted."""
    return '.'.join(
        repr(key) if isinstance(key, str) and '.' in key else str(key)
        for key in path)
