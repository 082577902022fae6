# SPDX-License-Identifier: Apache-2.0
import pytest

from nova_rt.cmd import plan
from nova_rt.tests.unit.plan.cases import SERVICE
from nova_rt.tests.unit.plan.cases import TARGET


@pytest.mark.parametrize(('arguments', 'words'), [
    (['size', '--deadline-us', '1000'], 'Give --arrival-rate'),
    (['size', *SERVICE, '--deadline-us', '0'], 'The deadline'),
    (['size', *SERVICE, '--deadline-us', 'nan'], 'not a number'),
    (['size', *SERVICE, '--deadline-us', '1e308'], '1e+308'),
    (['size', *SERVICE, '--deadline-us', '100'], 'reaches only'),
    (['size', '--arrival-rate', '0.1', '--processing-us', '5000000',
      '--deadline-us', '1e6'],
     'reaches only 11111111 µs, not 1000000 µs: allow'),
    (['size', *SERVICE, '--deadline-us', '1', '--percentile', '99'],
     'such as 0.99'),
    (['size', '--arrival-rate', '600', '--processing-us', '2000',
      '--deadline-us', '1000'], 'Unstable'),
    (['size', '--arrival-rate', '-5', '--processing-us', '2000',
      '--deadline-us', '1000'], 'arrival rate'),
    (['size', '--arrival-rate', '5', '--processing-us', '0',
      '--deadline-us', '1000'], 'processing time'),
    (['size', *SERVICE, *TARGET, '--network-mbps', '1'], 'give both'),
    (['size', *SERVICE, *TARGET, '--network-mbps', '0.1',
      '--request-bytes', '2000'], 'Unstable'),
    (['size', *SERVICE, *TARGET, '--switch-us', 'inf'], 'inf'),
    (['size', *SERVICE, *TARGET, '--switch-us', '-5'], 'context switch is -5:'),
    (['size', '--chain', 'none.yaml', '--deadline-us', '1'], 'No such file'),
    (['size', '--chain', 'none.yaml', '--deadline-us', '1', '--bound'],
     'not both'),
    *((['size', '--chain', 'none.yaml', '--deadline-us', '1', option, '0'],
       f'Give --chain or {option}, not both')
      for option in ('--arrival-rate', '--processing-us', '--delay-us',
                     '--network-mbps', '--request-bytes', '--name')),
    (['size', *SERVICE, *TARGET, '--name', ''], 'name of the flavor is empty'),
    (['capacity', '--pcpus', '4', '--runtime-us', '0', '--period-us', '100'],
     'runtime'),
    (['capacity', '--pcpus', '4', '--runtime-us', '50', '--period-us', '100',
      '--vcpus', '0'], 'at least 1 vCPU'),
    (['capacity', '--pcpus', '8192', '--runtime-us', '5', '--period-us',
      '4194304', '--vcpus', '2'], 'More than 50000'),
    (['capacity', '--pcpus', '4', '--runtime-us', '50', '--period-us', '100',
      '--existing', '/none/such'], 'No such file'),
    (['plot', 'response', *SERVICE, '-o', '/none/such/place'],
     'cannot be written'),
    (['plot', 'response', '--arrival-rate', '600', '--processing-us', '2000'],
     'Unstable'),
    (['plot', 'host', '/none/such', '--pcpus', '4'], 'No such file'),
    (['plot', 'host', '/dev/null', '--pcpus', '4', '--hosts', '99'],
     'do not fit a picture'),
    (['plot', 'paper', 'evaluation', '--sets', '0'], 'number of sets'),
])
def test_nonsense_gets_a_sentence(arguments, words, capsys):
    assert plan.main(arguments) == 2
    captured = capsys.readouterr()
    assert words in captured.err
    assert captured.err.count('\n') == 1
    assert captured.out == ''
