# SPDX-License-Identifier: Apache-2.0
"""Read a VNF package, and hold its manifests against its descriptors.

``tacker-rt validate`` looks at all manifests; an operation of Tacker at those of its request.
"""

from collections.abc import Callable
from collections.abc import Iterator
import contextlib
from pathlib import Path
from pathlib import PurePosixPath
import re
from typing import Any
import zipfile
import zlib

from nova_rt import errors
from nova_rt import wording
from tacker_rt import claims
from tacker_rt import document
from tacker_rt import locations
from tacker_rt import manifests
from tacker_rt import validation
from tacker_rt import workloads

FILES = 'lcm-kubernetes-def-files'
PACKED = ('.csar', '.zip')
_YAML = ('.yaml', '.yml')
_MANIFESTS = (*_YAML, '.json')
_FLAVOUR = (validation.TOPOLOGY, 'substitution_mappings', 'properties', 'flavour_id')
# What a manifest says even where it cannot be read; a chart has expressions besides.
_MEANT = re.compile(rf'\bkind\W+({"|".join((*workloads.KINDS, claims.KIND))})\b')
_CHART = '{{'

# The names of its files, and what returns the content of one.
_Files = tuple[list[str], Callable[[str], bytes]]


class RefusedError(errors.NovaRTError):
    """A package that cannot be read, or a request for what it does not have."""


class Package:
    """A VNF package.

    :param path: a directory or CSAR
    :param prefix: for the names of its files in reports
    """

    def __init__(self, path: Path, prefix: str = '') -> None:
        self._path = path
        self._prefix = prefix

    def descriptors(self) -> list[tuple[str, str]]:
        """Return the name and text of each; SOL004: in Definitions, or at the root."""
        with _opened(self._path) as (names, read):
            found = [name for name in names if name.endswith(_YAML)]
            chosen = [name for name in found if 'Definitions' in PurePosixPath(name).parts[:-1]]
            return [(self._prefix + name, text(read(name), self._prefix + name))
                    for name in chosen or [name for name in found if '/' not in name]]

    def manifests(self) -> list[document.Document]:
        """Return the objects in all files that may be manifests.

        :raises tacker_rt.document.UnreadableError: for one that is meant as a manifest; a
            package may also have unpacked charts, playbooks and more
        """
        objects = []
        with _opened(self._path) as (names, read):
            for name in names:
                if not (name.startswith('Files/') and name.endswith(_MANIFESTS)):
                    continue
                content = read(name)
                try:
                    objects += self._objects(name, content)
                except document.UnreadableError:
                    if _is_meant(content.decode(errors='replace')):
                        raise
        return objects

    def named(self, wanted: Any) -> list[document.Document]:
        """Return the objects in the manifests that a request names.

        :raises RefusedError: if these are not names of files in the package
        :raises tacker_rt.document.UnreadableError: if one is no manifest
        """
        if not isinstance(wanted, list):
            raise RefusedError(f'{FILES} is {wording.shown(wanted)}: give a list of the names of '
                               'files in the package.')
        objects = []
        with _opened(self._path) as (names, read):
            for name in wanted:
                # Neither a URL, nor what is outside: nobody has checked that.
                if name not in names:
                    raise RefusedError(
                        f'{FILES} has {wording.shown(name)}, but the package has no such file: '
                        'give its name in the package, such as Files/kubernetes/vnf.yaml.')
                objects += self._objects(name, read(name))
        return objects

    def check(self, find: Callable[[], list[document.Document]],
              flavour: str | None = None) -> list[document.Report]:
        """Return the problems of all descriptors, or else those of manifests with them.

        :param find: returns the objects of the manifests
        :param flavour: that is deployed; None to compare with the descriptors of all
        """
        loaded = [_loaded(file, content) for file, content in self.descriptors()]
        wrong = [report for _, found in loaded for report in found]
        if wrong:
            # What cannot be read has nothing to be compared with.
            return wrong
        try:
            objects = find()
        except document.UnreadableError as exc:
            return [exc.report]
        return sorted(manifests.validate(
            [source for source, _ in loaded if source and _is_of(source, flavour)], objects),
            key=lambda report: (report.file, report.line))

    def _objects(self, name: str, content: bytes) -> list[document.Document]:
        file = self._prefix + name
        return document.load_all(file, text(content, file))


def is_package(path: Path) -> bool:
    """Return whether a path is of a package, not of a single descriptor."""
    return path.is_dir() or path.suffix in PACKED


def text(content: bytes, file: str) -> str:
    """Return the text of a file.

    :raises tacker_rt.document.UnreadableError: if it is none
    """
    try:
        return content.decode()
    except UnicodeDecodeError as exc:
        line = content[:exc.start].count(b'\n') + 1
        raise document.UnreadableError(document.Report(
            file, line, 'This is not UTF-8 text.')) from exc


def reports(file: str, content: str) -> list[document.Report]:
    """Return all problems of a descriptor, ordered by line."""
    return _loaded(file, content)[1]


def _loaded(file: str, content: str) -> tuple[document.Document | None, list[document.Report]]:
    """Return a descriptor, None if it cannot be read, and all its problems by line."""
    try:
        source = document.load(file, content)
    except document.UnreadableError as exc:
        return None, [exc.report]
    _, wrong = validation.validate(source.content)
    return source, sorted([*source.duplicates(), *map(source.report, wrong)],
                          key=lambda report: report.line)


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[_Files]:
    """Yield the files of a package."""
    if path.is_dir():
        yield (sorted(file.relative_to(path).as_posix() for file in path.rglob('*')
                      if file.is_file()),
               lambda name: (path / name).read_bytes())
        return
    try:
        with zipfile.ZipFile(path) as packed:
            yield packed.namelist(), packed.read
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError,
            RuntimeError) as exc:
        raise RefusedError(f'{path} is not a readable package: {exc}.') from exc


def _is_meant(content: str) -> bool:
    """Return whether a file that cannot be read is meant as a manifest."""
    return _CHART not in content and bool(_MEANT.search(content))


def _is_of(source: document.Document, flavour: str | None) -> bool:
    """Return whether a descriptor may be of a deployment flavour: it names no other."""
    named = locations.at(source.content, _FLAVOUR)
    return flavour is None or not isinstance(named, str) or named == flavour
