# SPDX-License-Identifier: Apache-2.0
"""The servers of these tests leave each other alone."""

import pytest

from nova_rt.tests.e2e.db import servers

WHY_NOT = servers.MariaDBServer.why_not()

pytestmark = pytest.mark.skipif(WHY_NOT is not None, reason=str(WHY_NOT))


def test_a_mariadb_that_starts_keeps_off_the_temporary_tables_of_others(
        tmp_path, monkeypatch):
    theirs = tmp_path / '#sql-temptable-1-1-1.MAI'
    theirs.touch()
    monkeypatch.setenv('TMPDIR', str(tmp_path))
    servers.MariaDBServer(tmp_path).stop()
    assert theirs.exists()
