# SPDX-License-Identifier: Apache-2.0
"""Where MariaDB's releases keep the scripts that create their tables."""

import pytest

from stack import errors
from stack.services import mariadb


def install(share, folder, prefix):
    (share / folder).mkdir()
    for name in ('system_tables', 'performance_tables', 'system_tables_data'):
        (share / folder / f'{prefix}_{name}.sql').touch()


@pytest.mark.parametrize('release', ['mysql', 'mariadb'])
def test_the_scripts_of_old_and_new_releases_are_found_in_their_order(tmp_path, release):
    install(tmp_path, release, release)
    assert mariadb.system_tables(tmp_path) == [
        f'{tmp_path}/{release}/{release}_{name}.sql' for name in (
            'system_tables', 'performance_tables', 'system_tables_data')]


@pytest.mark.parametrize(('folder', 'prefix'), [
    (None, None), ('mariadb', 'mysql'), ('mysql', 'mariadb')])
def test_missing_scripts_are_refused_in_one_sentence(tmp_path, folder, prefix):
    if folder:
        install(tmp_path, folder, prefix)
    with pytest.raises(errors.StackError, match='install mariadb-server-core again'):
        mariadb.system_tables(tmp_path)
