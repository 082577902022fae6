# SPDX-License-Identifier: Apache-2.0
"""Chromium, and a cloud with a server that runs and one that found no room."""

import contextlib
import shutil
import types

import pytest
from selenium import webdriver

from horizon_rt.tests.browser import cloud as clouds
from horizon_rt.tests.browser.person import Person

# It would do harm if it were not text.
EVIL = "<script>document.title='taken'</script>{$7*7$}"


@pytest.fixture(scope='session')
def cloud():
    """A real OpenStack with Horizon."""
    if shutil.which('chromedriver') is None:
        pytest.skip('There is no chromedriver: install the packages chromium and '
                    'chromium-driver.')
    with clouds.running() as running:
        yield running


@pytest.fixture(scope='session')
def operator(cloud):
    """The administrator's clients."""
    return cloud.connect('admin')


@pytest.fixture(scope='session')
def flavors(operator):
    """Makes flavors, with a runtime in a tenth of a second."""
    with contextlib.ExitStack() as stack:
        def make(name, vcpus=1, runtime_us=None):
            flavor = operator.compute.create_flavor(name=name, vcpus=vcpus, ram=64, disk=1)
            stack.callback(operator.compute.delete_flavor, flavor)
            if runtime_us is not None:
                operator.compute.create_flavor_extra_specs(flavor, {
                    'hw:cpu.rt_runtime_us': str(runtime_us),
                    'hw:cpu.rt_period_us': '100000'})
            return flavor.id
        yield make


@pytest.fixture(scope='session')
def servers(cloud, operator, flavors):
    """The user's: web, which runs, one with a name that is markup, and one in ERROR."""
    answer = operator.session.get('/hosts', endpoint_filter={'service_type': 'rt'}).json()
    host, = answer['hosts']
    user = cloud.connect('demo')
    with contextlib.ExitStack() as stack:
        def server(name, flavor, status='ACTIVE'):
            made = user.compute.create_server(
                name=name, flavor_id=flavor, networks='none',
                image_id=user.image.find_image('busybox', ignore_missing=False).id)
            stack.callback(user.delete_server, made.id, wait=True)
            cloud.until(lambda: user.compute.get_server(made.id).status == status)
            return made.id
        small = flavors('small', 1, 30000)
        yield types.SimpleNamespace(
            host=host['host'], web=server('web', small), evil=server(EVIL, small),
            # A vCPU for each pCPU, one of which has too little left.
            refused=server('refused', flavors('large', host['pcpus_offered'], 90000), 'ERROR'))


@pytest.fixture
def person(cloud, tmp_path):
    """Makes a person at a browser of her own."""
    with contextlib.ExitStack() as stack:
        def begin(name):
            options = webdriver.ChromeOptions()
            for argument in ('--headless=new', '--disable-gpu', '--window-size=1280,1400',
                             '--disable-dev-shm-usage', f'--user-data-dir={tmp_path / name}',
                             # Its own sandbox needs a user other than root.
                             '--no-sandbox'):
                options.add_argument(argument)
            browser = webdriver.Chrome(
                options=options, service=webdriver.ChromeService(shutil.which('chromedriver')))
            stack.callback(browser.quit)
            found = Person(browser, cloud)
            found.log_in(name)
            return found
        yield begin
