# SPDX-License-Identifier: Apache-2.0
import hashlib
import zipfile

import pytest

from tacker_rt.testing import packages


@pytest.mark.parametrize('example', [
    path.name for path in sorted(packages.EXAMPLES.iterdir())])
def test_an_example_becomes_a_package_with_its_definitions(example, tmp_path):
    target = tmp_path / f'{example}.csar'
    packages.build(example, target)
    shipped = {str(path.relative_to(packages.EXAMPLES / example))
               for path in (packages.EXAMPLES / example).rglob('*.yaml')}
    with zipfile.ZipFile(target) as package:
        assert shipped
        assert shipped <= set(package.namelist())


def test_there_are_examples():
    assert len(list(packages.EXAMPLES.iterdir())) > 1


def test_an_edit_of_what_an_example_lacks_is_refused(tmp_path):
    with pytest.raises(AssertionError, match='no such words'):
        packages.build('standard', tmp_path / 'a.csar',
                       {'no such words': 'others'})


@pytest.mark.parametrize('example', [
    path.name for path in sorted(packages.EXAMPLES.iterdir())])
def test_the_hashes_of_an_examples_artifacts_are_right(example):
    folder = packages.EXAMPLES / example
    for match in packages.ARTIFACT.finditer(
            (folder / 'TOSCA-Metadata/TOSCA.meta').read_text()):
        right = hashlib.sha256((folder / match[2]).read_bytes()).hexdigest()
        assert match[0] == match[1] + right
