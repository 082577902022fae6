# SPDX-License-Identifier: Apache-2.0
"""Horizon with our panel in a real browser, with real services behind it."""

import os

import pytest
from selenium.webdriver.common.by import By

from horizon_rt.tests.browser.conftest import EVIL
from horizon_rt.tests.browser.person import PANEL

# Names a file for what the documentation shows.
SCREENSHOT = os.environ.get('NOVA_RT_HORIZON_SCREENSHOT')

AWAY = ('The API of nova-rt does not answer at the address in the service catalogue: try again '
        'later, or ask your operator.')


@pytest.fixture
def admin(person):
    return person('admin')


@pytest.fixture
def member(person):
    return person('demo')


def test_an_administrator_finds_hosts_and_their_pcpus_by_the_menu(admin, servers):
    assert any(link.endswith(PANEL) for link in admin.links())
    admin.go(PANEL)
    assert servers.host in admin.sees('hosts')
    assert 'demo' in admin.sees('projects')
    assert '30000 µs every 100000 µs' in admin.sees('flavors')
    assert admin.sees('waiting-none') == 'None waits.'

    admin.browser.find_element(By.LINK_TEXT, servers.host).click()
    assert 'Cap' in admin.wait(lambda: admin.sees('host'))
    bars = admin.browser.find_elements(By.CLASS_NAME, 'real-time-pcpu')
    assert [bar.text for bar in bars if 'web 30%' in bar.text]
    # The part that web holds is as wide as it is to be.
    drawn = admin.browser.find_element(By.CSS_SELECTOR, '.real-time-pcpu svg').rect['width']
    held = admin.browser.find_element(By.CSS_SELECTOR, '.real-time-pcpu rect[width="300"]')
    assert drawn > 300
    assert held.rect['width'] == pytest.approx(0.3 * drawn, rel=0.05)
    if SCREENSHOT:
        admin.browser.save_screenshot(SCREENSHOT)


def test_names_are_text(admin, servers):
    admin.go(f'{PANEL}hosts/{servers.host}/')
    # Horizon changes what its JavaScript would compute.
    shown = EVIL.replace('{$', '{%').replace('$}', '%}')
    assert shown in admin.sees('holdings')
    assert 'taken' not in admin.browser.title
    assert '30000 µs' in admin.looks_at_server('admin', servers.evil)
    assert shown in admin.browser.title


def test_a_flavor_gets_its_reservation_by_the_form(admin, cloud, flavors):
    flavors('plain')
    admin.go(PANEL)
    admin.browser.find_element(
        By.CSS_SELECTOR, 'a[aria-label="Edit the reservation of plain"]').click()
    admin.enter(runtime_us='soon', period_us='100000')
    assert admin.wait(admin.errors) == {
        'runtime_us': "hw:cpu.rt_runtime_us is 'soon': give a whole number in digits, for "
                      'example 100000.'}
    # Only nova-api knows the cap.
    admin.enter(runtime_us='99900', period_us='100000')
    admin.wait(lambda: '' in admin.errors())
    assert 'can be reserved: lower cpu.rt_runtime_us' in admin.errors()['']
    assert cloud.show_flavor('plain') == {}
    admin.enter(runtime_us='20000', period_us='100000', criticality='B')
    admin.wait(lambda: admin.browser.current_url.endswith(PANEL))
    assert '20000 µs every 100000 µs' in admin.sees('flavors')
    assert cloud.show_flavor('plain') == {
        'hw:cpu.rt_runtime_us': '20000', 'hw:cpu.rt_period_us': '100000',
        'hw:cpu.rt_criticality': 'B'}


def test_a_user_sees_her_server_and_no_host(member, servers):
    assert not any(link.endswith(PANEL) for link in member.links())
    text = member.looks_at_server('project', servers.web)
    for expected in ('30000 µs', '100000 µs', '30% of a pCPU for each vCPU'):
        assert expected in text
    assert servers.host not in text
    # Nor by the address.
    for path in (PANEL, f'{PANEL}hosts/{servers.host}/'):
        member.go(path)
        assert member.sees('hosts') is None
        assert member.sees('host') is None


def test_a_server_that_found_no_room_says_why(admin, member, servers):
    text = member.looks_at_server('project', servers.refused)
    assert 'none yet' in text
    assert member.sees('fault')
    assert member.sees('why') is None
    admin.looks_at_server('admin', servers.refused)
    assert servers.host in admin.sees('why')
    assert 'lacks' in admin.sees('why')


def test_pages_say_so_when_the_api_is_away(admin, cloud, servers):
    with cloud.without('nova-api'):
        admin.go(PANEL)
        assert admin.sees('hosts-trouble') == AWAY
        assert admin.sees('flavors-trouble') == admin.sees('hosts-trouble')
        admin.go(f'{PANEL}hosts/{servers.host}/')
        assert admin.sees('host-trouble') == AWAY
    admin.go(PANEL)
    assert servers.host in admin.sees('hosts')
