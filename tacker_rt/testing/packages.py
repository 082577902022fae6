# SPDX-License-Identifier: Apache-2.0
"""VNF packages: the shipped examples, each time as a new VNFD."""

from collections.abc import Mapping
import hashlib
import importlib.metadata
import pathlib
import re
import uuid
import zipfile

EXAMPLES = pathlib.Path(__file__).parents[2] / 'tosca' / 'packages'
# ETSI's own types, which Tacker ships with its tests.
ETSI_TYPES = ('etsi_nfv_sol001_common_types.yaml',
              'etsi_nfv_sol001_vnfd_types.yaml')
ARTIFACT = re.compile(r'(Name: (\S+)\n(?:.+\n)*?Hash: )[0-9a-f]*')
UUID = re.compile(r'\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b')


def build(example: str, target: pathlib.Path,
          edits: Mapping[str, str] | None = None,
          files: Mapping[str, str | None] | None = None) -> str:
    """Write a package with ETSI's types in it, and return its VNFD's id.

    :param example: a directory in ``tosca/packages``.
    :param target: the file to write.
    :param edits: text to replace, each of which must be there.
    :param files: the content of files that are added, or replace others;
        None to leave one out.
    """
    vnfd_id = str(uuid.uuid4())
    content = {
        str(path.relative_to(EXAMPLES / example)):
            UUID.sub(vnfd_id, path.read_text())
        for path in sorted((EXAMPLES / example).rglob('*.*'))}
    for old, new in (edits or {}).items():
        assert any(old in text for text in content.values()), old
        content = {name: text.replace(old, new)
                   for name, text in content.items()}
    for name in ETSI_TYPES:
        content[f'Definitions/{name}'] = of_tacker(name).read_text()
    content.update((name, text) for name, text in (files or {}).items() if text is not None)
    content['TOSCA-Metadata/TOSCA.meta'] = _hashed(content)
    with zipfile.ZipFile(target, 'w') as package:
        for name, text in content.items():
            if (files or {}).get(name, text) is not None:
                package.writestr(name, text)
    return vnfd_id


def _hashed(content: Mapping[str, str]) -> str:
    """Return TOSCA.meta with the hashes that its artifacts have now."""
    return ARTIFACT.sub(
        lambda match: match[1] + hashlib.sha256(content[match[2]].encode()).hexdigest(),
        content['TOSCA-Metadata/TOSCA.meta'])


def vnfd_id(example: str) -> str:
    """Return the id of an example's VNFD as it is shipped."""
    idents: set[str] = {
        ident for path in (EXAMPLES / example).rglob('*.yaml')
        for ident in UUID.findall(path.read_text())}
    ident, = idents
    return ident


def of_tacker(name: str) -> pathlib.Path:
    """Return a file that Tacker's package has."""
    path = next(file for file in importlib.metadata.files('tacker') or ()
                if file.name == name)
    return pathlib.Path(str(path.locate()))
