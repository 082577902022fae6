# SPDX-License-Identifier: Apache-2.0
"""A YAML file that knows the line of each of its values."""

from collections.abc import Iterator
import contextlib
import dataclasses
from typing import Any

import yaml

from nova_rt import errors
from tacker_rt import indentation
from tacker_rt import problems

_MERGE = '<<'


@dataclasses.dataclass(frozen=True, slots=True)
class Report:
    """A problem with its file and line, as shown to users."""

    file: str
    line: int
    sentence: str

    def __str__(self) -> str:
        return f'{self.file}:{self.line}: {self.sentence}'


class UnreadableError(errors.NovaRTError):
    """A file that is not valid YAML; the report says why."""

    def __init__(self, report: Report) -> None:
        self.report = report
        super().__init__(str(report))


@dataclasses.dataclass(frozen=True)
class Document:
    """The content of a file.

    :ivar restored: whether the file had lost its indentation
    :ivar as_is: whether the file was parsed without changes
    """

    file: str
    content: Any
    node: yaml.Node | None
    restored: bool = False
    as_is: bool = True

    def report(self, problem: problems.Problem) -> Report:
        """Return a problem with its file and line."""
        sentence = problem.sentence
        if problem.path:
            sentence = f'{problems.dotted(problem.path)}: {sentence}'
        return Report(self.file, self.line(problem.path), sentence)

    def line(self, path: problems.Path) -> int:
        """Return the line of a key or item, or of the closest parent found."""
        node, line = self.node, 1
        for key in path:
            child = _child(node, key)
            if child is None:
                break
            line, node = child
        return line

    def duplicates(self) -> Iterator[Report]:
        """Yield the keys that a map has twice: PyYAML drops the first."""
        for key, first in _repeated(self.node, set()):
            yield Report(self.file, key.start_mark.line + 1, (
                f'{key.value} is given here and on line '
                f'{first.start_mark.line + 1}: give it once.'))


def load(file: str, text: str) -> Document:
    """Return a YAML document.

    :raises UnreadableError: if the text is not valid YAML
    """
    restored = indentation.restore(text)
    given = text if restored is None else restored
    try:
        loaded = _load(file, given)
    except UnreadableError:
        shorter = indentation.remove_ellipses(given)
        if shorter == given:
            raise
        loaded = dataclasses.replace(_load(file, shorter), as_is=False)
    return loaded if restored is None else dataclasses.replace(
        loaded, restored=True, as_is=False)


def load_all(file: str, text: str) -> list[Document]:
    """Return all YAML documents of a file, such as a manifest of Kubernetes.

    :raises UnreadableError: if the text is not valid YAML
    """
    documents = []
    with _loader(file, text) as loader:
        while loader.check_node():
            node = loader.get_node()
            documents.append(Document(file, loader.construct_document(node), node))
    return documents


def _load(file: str, text: str) -> Document:
    with _loader(file, text) as loader:
        node = loader.get_single_node()
        content = None if node is None else loader.construct_document(node)
    return Document(file, content, node)


@contextlib.contextmanager
def _loader(file: str, text: str) -> Iterator[Any]:
    """Yield PyYAML's loader of a text.

    :raises UnreadableError: for whatever it raises
    """
    loader = None
    try:
        loader = yaml.SafeLoader(text)
        yield loader
    except yaml.MarkedYAMLError as exc:
        mark = exc.problem_mark or exc.context_mark
        reason = ' '.join(filter(None, (exc.context, exc.problem)))
        raise UnreadableError(Report(
            file, mark.line + 1 if mark else 1,
            f'This is not valid YAML: {reason}.')) from exc
    # PyYAML's constructors do not catch the errors of the values they build.
    except (yaml.YAMLError, ValueError, RecursionError, AttributeError,
            LookupError, TypeError) as exc:
        reason = str(exc).splitlines()[0] if str(exc) else 'no value'
        raise UnreadableError(Report(
            file, 1, f'This cannot be read: {reason}.')) from exc
    finally:
        if loader:
            loader.dispose()


def _child(node: yaml.Node | None,
           key: str | int) -> tuple[int, yaml.Node] | None:
    if isinstance(node, yaml.SequenceNode) and isinstance(key, int):
        if key < len(node.value):
            return node.value[key].start_mark.line + 1, node.value[key]
    elif isinstance(node, yaml.MappingNode):
        # The last of equal keys is the one that counts.
        for name, value in reversed(node.value):
            if name.value == str(key):
                return name.start_mark.line + 1, value
    return None


def _repeated(node: yaml.Node | None, seen: set[int],
              ) -> Iterator[tuple[yaml.Node, yaml.Node]]:
    if node is None or id(node) in seen:
        return
    seen.add(id(node))
    if isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from _repeated(item, seen)
    elif isinstance(node, yaml.MappingNode):
        firsts: dict[Any, yaml.Node] = {}
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value != _MERGE:
                if (key.tag, key.value) in firsts:
                    yield key, firsts[key.tag, key.value]
                firsts.setdefault((key.tag, key.value), key)
            yield from _repeated(value, seen)
