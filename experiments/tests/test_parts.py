# SPDX-License-Identifier: Apache-2.0
"""What the experiments compute themselves, without a virtual machine."""

import json
from pathlib import Path

import numpy as np
import pytest

from experiments import __main__ as command
from experiments import guest
from experiments import ims
from experiments import orchestration
from experiments import output
from experiments import podsets
from experiments import queueing
from experiments import rtkube
from experiments import severalsets
from experiments import tasksets
from experiments import tokenbucket
from nova_rt.model import paper


def test_requests_have_the_load_that_they_shall_have():
    drawn = queueing.draw(1000, 0.7, 200_000, 1)
    assert drawn.at[-1] / drawn.at.size == pytest.approx(1000, rel=0.02)
    assert drawn.work.mean() == pytest.approx(700, rel=0.02)


def test_the_guest_reads_stretched_nanoseconds():
    drawn = queueing.Draw(np.array([2.0]), np.array([0.5]))
    assert np.frombuffer(queueing.encoded(drawn, 128, 4), np.int64).tolist(
        ) == [8000, 2000, 128]
    assert queueing.reservation(0.9, 4) == '7200/8000'


def point(slower):
    setting = paper.TABLE_3[1]
    drawn = queueing.draw(2000, setting.load, 3000, 1)
    ideal = queueing._point(setting, 2000, drawn, np.zeros(3000), 0, 0).ideal
    return queueing._point(setting, 2000, drawn, ideal * slower + 10, 10, 1)


def test_a_guest_that_is_the_model_has_no_error():
    row = dict(zip(queueing.TABLE_HEADER, queueing.table_row([point(1.0)]),
                   strict=True))
    assert row['mean_mape_paired'] == pytest.approx(0, abs=1e-9)
    assert row['p99_mape_paired'] == pytest.approx(0, abs=1e-9)
    assert row['mean_mape'] > 0
    assert row['mean_mape_paper'] == 5.02


def test_a_slower_guest_has_an_error_of_so_much():
    row = dict(zip(queueing.TABLE_HEADER, queueing.table_row([point(1.1)]),
                   strict=True))
    assert 5 < row['mean_mape_paired'] < 12


def test_what_is_sent_and_its_headers_are_the_drawn_size():
    drawn = np.array([500.0, 3000.0])
    sent = tokenbucket.on_the_wire(drawn)
    packets = np.ceil(sent / tokenbucket.PAYLOAD_BYTES)
    assert sent + packets * tokenbucket.PACKET_BYTES == pytest.approx(drawn)


def test_at_least_thirty_sets_fit_one_vcpu():
    cases = tasksets.on_one_vcpu()
    assert len(cases) == tasksets.ON_KERNEL
    assert all(case.resource.vcpus == 1 for case in cases)
    assert [case.index for case in cases] == sorted(
        {case.index for case in cases})


def test_pods_have_thirty_sets_with_claims_that_fit_a_pcpu():
    sets = podsets.sets()
    assert len({each['index'] for each in sets}) == 30
    assert all(each['runtime_us'] <= podsets.CAP * each['period_us'] for each in sets)
    # What differs is written anew by "python -m experiments.podsets".
    file = Path(__file__).parents[2] / 'kubernetes/tests/testdata/tasksets.json'
    assert json.loads(file.read_text()) == sets


@pytest.mark.parametrize('cpus', [2, 4])
def test_the_kernel_has_sets_for_several_cpus_up_to_all_that_fit(cpus):
    cases = severalsets.cases(cpus)
    assert len({case.index for case in cases}) == severalsets.COUNTS[cpus]
    assert all(1 < case.found.resource.vcpus <= cpus for case in cases)
    assert max(case.utilisation for case in cases) > {2: 1.3, 4: 1.99}[cpus]
    # What differs is written anew by "python -m experiments.severalsets".
    file = Path(__file__).parents[2] / f'kernel/tests/cases/sets-{cpus}cpu'
    assert file.read_text() == severalsets.text(cpus)


def test_pods_have_some_of_the_sets_for_several_cpus():
    # What differs is written anew by "python -m experiments.severalsets pods".
    file = Path(__file__).parents[2] / 'kubernetes/tests/testdata/severalsets.json'
    assert json.loads(file.read_text()) == severalsets.of_pods()


def test_late_unended_and_unbegun_jobs_are_missed():
    ms = 1_000_000
    jobs = np.array([[0, 0, 10 * ms], [0, 500 * ms, 501 * ms],
                     [0, 1000 * ms, -1]])
    outcome = tasksets.judged([500_000], jobs, 2)
    assert outcome.missed == 3
    assert outcome.worst == pytest.approx(1.002)


def test_utilisations_are_those_of_the_paper():
    assert [round(100 * task.utilisation) for task in rtkube.TASKS.values()
            ] == [12, 16, 20]
    for counts in rtkube.DEPLOYMENTS.values():
        assert sum(counts.values()) == 72


def placed(*pcpus, admitted=True):
    return [orchestration.Container('C', 'I', pcpu, admitted)
            for pcpu in pcpus]


def test_what_the_kernel_admits_misses_nothing():
    containers = placed(0, 0, 0, 0, 1)
    orchestration.judge(containers)
    assert all(container.jobs > 100 and not container.missed for container in containers)


def test_a_refused_container_misses_all():
    containers = {(cloud, name): [
        *placed(0, 1), *placed(2, 3, admitted=False),
        orchestration.Container('A', 'J', 0, True),
        orchestration.Container('B', None, None)]
        for cloud in orchestration.CLOUDS for name in rtkube.DEPLOYMENTS}
    rows = [dict(zip(orchestration.HEADER, row, strict=True))
            for row in orchestration.rows(containers)]
    by_level = {row['criticality']: row for row in rows[:3]}
    assert by_level['C']['refused'] == 2
    assert by_level['C']['missed_all_percent'] == 50
    assert by_level['A']['refused'] == 0
    assert by_level['B']['nowhere'] == 1


def left_behind(slower=1.0):
    """What the guest leaves of an IMS: half of the CPU, noise makes slower."""
    rows = {'quiet': 4.0, 'noise': 4.0 * slower}
    files = {f'{name}.csv': '\n'.join([
        'Date_ms;response_time_ms;rtd_no',
        *(f'{at};{rows[name.split("-")[1]]};authentication'
          for at in range(100))]).encode() for name in ims.PAPER_P99_US}
    return files | {'use': '\n'.join(
        f'{name} 500 240 100 1000' for name in ims.PAPER_P99_US).encode()}


def test_round_trips_come_back_in_the_papers_time():
    cases = ims.cases(ims.read(left_behind(slower=1.5), 100))
    assert cases['fair-quiet'].p99 == pytest.approx(1000)
    assert cases['hcbs-noise'].load == 0.5
    assert cases['hcbs-noise'].noise == 0.24
    assert ims.change(cases, 'hcbs') == pytest.approx(0.5)


def test_a_registration_that_did_not_end_is_an_error():
    with pytest.raises(guest.GuestError, match='100 of 101'):
        ims.read(left_behind(), 101)


def test_the_ims_guest_is_told_stretched_times():
    lines = ims.settings(10).splitlines()
    assert {'RUNTIME=5600', 'PERIOD=8000', 'NOISE_C=24000',
            'NOISE_T=400000', 'NOISE_RUNTIME=96000'} < set(lines)


def test_samples_are_measured_once_if_they_may_be_reused(tmp_path):
    calls = []

    def measure():
        calls.append(1)
        return {'values': np.arange(3)}

    for reuse in (False, True):
        kept = output.Folder(tmp_path, reuse).samples('one', measure)
        assert kept['values'].tolist() == [0, 1, 2]
    assert len(calls) == 1


def test_a_failed_experiment_is_one_sentence(monkeypatch, tmp_path, capsys):
    def fail(*_):
        raise guest.GuestError('The kernel does not build.')

    monkeypatch.setattr(guest, 'missing', str)
    monkeypatch.setattr(queueing, 'run', fail)
    assert command.main(['queueing', '--out', str(tmp_path)]) == 1
    assert capsys.readouterr().err == 'The kernel does not build.\n'
