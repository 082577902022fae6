# SPDX-License-Identifier: Apache-2.0
from oslo_config import cfg
import pytest

from nova_rt import conf

NUMBERS = ['cap', 'criticality_b_turn', 'lend_for', 'lend_most', 'miss_window',
           'weight_multiplier']


def read(tmp_path, line):
    """Read a nova.conf with one line in our group."""
    nova_conf = tmp_path / 'nova.conf'
    nova_conf.write_text(f'[rt]\n{line}\n')
    read = cfg.ConfigOpts()
    conf.register_opts(read)
    read(['--config-file', str(nova_conf)])
    return read.rt


@pytest.mark.parametrize('value', ['nan', 'inf', '-inf', 'much'])
@pytest.mark.parametrize('name', NUMBERS)
def test_what_is_no_number_is_refused(tmp_path, name, value):
    with pytest.raises(ValueError, match=name):
        getattr(read(tmp_path, f'{name} = {value}'), name)


def test_every_coefficient_is_a_number(tmp_path):
    assert read(tmp_path, 'criticality_b_rise = 1,2.5').criticality_b_rise == [1, 2.5]
    with pytest.raises(ValueError, match='give a number, not nan'):
        assert read(tmp_path, 'criticality_b_rise = 1,nan').criticality_b_rise


@pytest.mark.parametrize('name', NUMBERS)
def test_a_number_is_taken(tmp_path, name):
    assert getattr(read(tmp_path, f'{name} = 0.5'), name) == 0.5
