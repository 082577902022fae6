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
def servers(cloud):
    """The user's: web, which runs, one with a name that is markup, and one in ERROR."""
    host, = cloud.run('rt host list')
    with contextlib.ExitStack() as stack:
        def flavor(name, vcpus, runtime_us):
            cloud.do(f'flavor create {name} --vcpus {vcpus} --ram 64 --disk 1 '
                     f'--property hw:cpu.rt_runtime_us={runtime_us} '
                     '--property hw:cpu.rt_period_us=100000')
            stack.callback(cloud.do, f'flavor delete {name}')

        def server(name, flavor, *more):
            made = cloud.run(f'server create {name} --flavor {flavor} --image busybox '
                             f'--nic none {" ".join(more)}', 'demo')
            stack.callback(cloud.do, f'server delete --wait {made["id"]}', 'demo')
            return made['id']
        flavor('rt30', 1, 30000)
        flavor('rt90', host['pcpus'], 90000)
        web = server('web', 'rt30', '--wait')
        evil = server(f'"{EVIL}"', 'rt30', '--wait')
        refused = server('refused', 'rt90')
        cloud.until(lambda: cloud.run(f'server show {refused}')['status'] == 'ERROR')
        yield types.SimpleNamespace(host=host['host'], web=web, evil=evil, refused=refused)


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
