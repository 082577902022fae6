# SPDX-License-Identifier: Apache-2.0
import pathlib
import platform

import pytest

from nova_rt import bandwidth
from nova_rt.virt.cgroup import limits

FIVE = bandwidth.to_bandwidth(50, 1000)


def serve(debugfs, name, *runtimes_us):
    """Write what debugfs shows of a server on each pCPU; the period is a second."""
    for pcpu, runtime_us in enumerate(runtimes_us):
        server = debugfs / f'sched/{name}_server/cpu{pcpu}'
        server.mkdir(parents=True)
        (server / 'runtime').write_text(f'{runtime_us * 1000}\n')
        (server / 'period').write_text('1000000000\n')


@pytest.mark.parametrize(('fair', 'ext', 'held'), [
    ((50_000, 50_000), (), 50_000),
    ((50_000, 50_000), (50_000, 50_000), 100_000),
    ((50_000, 50_000), (0, 0), 50_000),
    ((0, 0), (20_000, 20_000), 20_000),
    ((0, 0), (0, 0), 0),
    ((50_000, 10_000), (0, 30_000), 50_000)])
def test_each_server_that_debugfs_shows_takes_its_part(tmp_path, fair, ext, held):
    serve(tmp_path, 'fair', *fair)
    serve(tmp_path, 'ext', *ext)
    assert limits.kernel_servers(tmp_path) == pytest.approx(
        bandwidth.to_bandwidth(held, 1_000_000), abs=1)


@pytest.mark.parametrize(('release', 'sched_ext', 'servers'), [
    ('6.1.0-44-amd64', False, 1), ('6.12.117', True, 1), ('6.18.44-fc', True, 1),
    ('7.0.0-rc1', True, 2), ('7.3.1+deb14-cloud-amd64', True, 2), ('7.3.1', False, 1)])
def test_without_debugfs_what_a_kernel_has_after_boot_is_assumed(
        tmp_path, monkeypatch, release, sched_ext, servers):
    monkeypatch.setattr(platform, 'release', lambda: release)
    if sched_ext:
        (tmp_path / 'kernel/sched_ext').mkdir(parents=True)
    assert limits.kernel_servers(tmp_path / 'nothing', tmp_path) == servers * FIVE


def test_where_debugfs_is_locked_down_what_a_kernel_has_after_boot_is_assumed(
        tmp_path, monkeypatch):
    serve(tmp_path, 'fair', 100_000)

    def locked_down(path):
        raise PermissionError(1, 'Operation not permitted', str(path))
    monkeypatch.setattr(platform, 'release', lambda: '6.12.117')
    monkeypatch.setattr(pathlib.Path, 'read_text', locked_down)
    assert limits.kernel_servers(tmp_path, tmp_path / 'nothing') == FIVE


def test_a_global_limit_of_the_whole_period_leaves_what_the_servers_do_not_take(
        tmp_path, monkeypatch):
    monkeypatch.setattr(limits, 'kernel_servers', lambda: 2 * FIVE)
    (tmp_path / 'sys/kernel').mkdir(parents=True)
    (tmp_path / 'sys/kernel/sched_rt_runtime_us').write_text('1000000\n')
    (tmp_path / 'sys/kernel/sched_rt_period_us').write_text('1000000\n')
    assert limits.beside_kernel_servers(tmp_path) == bandwidth.BW_UNIT - 2 * FIVE
