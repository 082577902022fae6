# SPDX-License-Identifier: Apache-2.0
"""A VNF of containers, by real Tacker in a cluster with a real scheduler."""

import pytest

from nova_rt.testing import full
from nova_rt.tests.e2e import driver
from tacker_rt.tests.e2e import cluster as clusters

# Tacker looks at the cluster every ten seconds, and each operation waits for that.
pytestmark = full.only

FILES = {'lcm-kubernetes-def-files': [clusters.MANIFEST], 'namespace': clusters.NAMESPACE}
BANDWIDTH, LESS = '314572', '209715'
RUNTIMES_US = [0, 0, 30_000, 30_000]
# The second package: 20 ms, and a template of another name, as templates never change.
CHANGE = {"'30000'": "'20000'", '30000\n': '20000\n', BANDWIDTH: LESS,
          'rt-30000-100000-2': 'rt-20000-100000-2'}


@pytest.fixture(scope='module')
def cluster(tmp_path_factory):
    with clusters.running(tmp_path_factory.mktemp('cluster')) as cluster:
        yield cluster


@pytest.fixture
def operator(user, cluster, tmp_path):
    operator = clusters.Operator(user, '2', tmp_path)
    operator.cluster = cluster
    yield operator
    operator.clean_up()


def bandwidths(cluster):
    return [[bandwidth for _, bandwidth in claim] for claim in cluster.allocated()]


def test_each_pod_has_its_vdus_reservation_in_every_state_of_the_vnf(operator, cluster):
    vnf = operator.create(operator.onboard('containers'))
    vnf.instantiate(**FILES)
    assert (cluster.running('rt'), cluster.running('plain')) == (1, 1)
    assert bandwidths(cluster) == [[BANDWIDTH] * 2]
    assert [sorted(each) for each in cluster.runtimes_us()] == [RUNTIMES_US]
    vnf.scale('SCALE_OUT')
    assert bandwidths(cluster) == [[BANDWIDTH] * 2] * 2
    # Worst-fit: on the other two pCPUs.
    assert len({device for claim in cluster.allocated() for device, _ in claim}) == 4
    vnf.heal(vnf.vnfcs('VDU_RT')[0])
    driver.until(lambda: bandwidths(cluster) == [[BANDWIDTH] * 2] * 2, 'it is healed')
    vnf.scale('SCALE_IN')
    driver.until(lambda: bandwidths(cluster) == [[BANDWIDTH] * 2], 'one pod is left')
    vnf.change(operator.onboard('containers', CHANGE), 'VDU_RT')
    driver.until(lambda: bandwidths(cluster) == [[LESS] * 2], 'the new package is in force')
    # Old ones stay, as pods of VDUs that do not change may name them.
    assert cluster.names('resourceclaimtemplates') == ['rt-20000-100000-2', 'rt-30000-100000-2']
    vnf.terminate()
    driver.until(cluster.is_empty, 'nothing is left')


def test_a_package_that_contradicts_itself_is_refused_before_any_pod_is_made(
        operator, cluster):
    vnf = operator.create(operator.onboard('containers', {"'30000'": "'20000'"}))
    vnf.try_to_instantiate(**FILES)
    assert ('Files/kubernetes/vnf.yaml:27: ResourceClaimTemplate rt-30000-100000-2: '
            'cpu.rt_runtime_us is 30000 here and 20000 in VDU VDU_RT of '
            'Definitions/df_simple.yaml: make them the same.') in vnf.failure()
    assert cluster.running('rt') == 0
    operator.clean_up()
    assert cluster.is_empty()


def test_anothers_template_of_the_same_name_is_not_taken_over(operator, cluster):
    template = {'apiVersion': 'resource.k8s.io/v1', 'kind': 'ResourceClaimTemplate',
                'metadata': {'name': 'rt-30000-100000-2'}, 'spec': {'spec': {}}}
    cluster.create(template)
    vnf = operator.create(operator.onboard('containers'))
    vnf.try_to_instantiate(**FILES)
    assert ('The ResourceClaimTemplate rt-30000-100000-2 is there already, and not of this VNF'
            in vnf.failure())
    operator.clean_up()
    assert cluster.names('resourceclaimtemplates') == ['rt-30000-100000-2']
    cluster.delete('rt-30000-100000-2')
