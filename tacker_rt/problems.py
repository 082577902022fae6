# SPDX-License-Identifier: Apache-2.0
"""What is wrong in a descriptor, and where."""

from collections.abc import Iterable
import dataclasses

from nova_rt import reservation

Path = tuple[str | int, ...]
"""Keys and indexes that lead from the top of a document to a value."""


@dataclasses.dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong; the sentence also says what to write."""

    path: Path
    sentence: str

    def below(self, path: Path) -> 'Problem':
        """Return the problem as seen from further up."""
        return dataclasses.replace(self, path=path + self.path)


class InvalidDescriptorError(reservation.InvalidReservationError):
    """A descriptor that asks for what cannot be, or unreadably."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__(' '.join(
            f'{dotted(each.path)}: {each.sentence}' if each.path
            else each.sentence for each in self.problems))


def dotted(path: Path) -> str:
    """Return a path as people write it; a key with a dot is quoted."""
    return '.'.join(
        repr(each) if isinstance(each, str) and '.' in each else str(each)
        for each in path)
