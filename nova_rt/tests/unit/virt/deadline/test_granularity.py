# SPDX-License-Identifier: Apache-2.0
import gzip
import pathlib
import platform
import time

import pytest

from nova_rt.virt.deadline import granularity


@pytest.mark.parametrize(('text', 'exact'), [
    ('GENTLE_FAIR_SLEEPERS NO_HRTICK NO_HRTICK_DL NONTASK_CAPACITY\n', False),
    ('GENTLE_FAIR_SLEEPERS HRTICK NO_HRTICK_DL\n', False),
    ('GENTLE_FAIR_SLEEPERS NO_HRTICK HRTICK_DL NONTASK_CAPACITY\n', True)])
def test_a_feature_of_the_scheduler_says_what_ends_turns(features, text, exact):
    features.write_text(text)
    assert granularity.is_exact() is exact


def test_a_timer_that_waits_for_a_tick_ends_no_turn_exactly(features, monkeypatch):
    features.write_text('HRTICK HRTICK_DL\n')
    monkeypatch.setattr(time, 'clock_getres', lambda clock: 0.004)
    assert not granularity.is_exact()


def test_nothing_is_claimed_without_debugfs(features):
    features.unlink()
    assert not granularity.is_exact()


def test_nothing_is_claimed_where_the_kernel_is_locked_down(monkeypatch):
    def locked_down(path):
        raise PermissionError(1, 'Operation not permitted', str(path))
    monkeypatch.setattr(pathlib.Path, 'read_text', locked_down)
    assert not granularity.is_exact()


@pytest.mark.parametrize(('configuration', 'tick_us'), [
    ('CONFIG_HZ_250=y\nCONFIG_HZ=250\n', 4_000), ('CONFIG_HZ=1000\n', 1_000),
    ('# CONFIG_HZ=1000\n', 10_000), ('', 10_000)])
def test_the_tick_is_what_the_kernels_configuration_says(
        tmp_path, monkeypatch, configuration, tick_us):
    monkeypatch.setattr(platform, 'release', lambda: '6.1.0-44-amd64')
    (tmp_path / 'config-6.1.0-44-amd64').write_text(configuration)
    assert granularity.tick_us(tmp_path, tmp_path) == tick_us


def test_without_a_configuration_the_longest_tick_is_assumed(tmp_path):
    assert granularity.tick_us(tmp_path, tmp_path) == 10_000


def test_a_kernel_that_shows_its_configuration_itself_is_asked(tmp_path):
    (tmp_path / 'config.gz').write_bytes(gzip.compress(b'CONFIG_HZ_300=y\nCONFIG_HZ=300\n'))
    assert granularity.tick_us(tmp_path, tmp_path) == 3_333
