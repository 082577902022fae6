# SPDX-License-Identifier: Apache-2.0
import oslo_messaging

from nova_rt.cmd import sentences


def test_a_module_that_is_missing_is_no_trouble_with_a_database():
    assert sentences.sentence(ModuleNotFoundError('libvirt')) is None


def test_a_message_bus_that_is_away_says_to_run_the_command_again():
    text = sentences.sentence(oslo_messaging.MessagingTimeout())
    assert 'transport_url' in text
    assert text.endswith('then run this again.')
