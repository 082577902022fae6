# SPDX-License-Identifier: Apache-2.0
import pytest

from nova_rt import signatures


def test_a_changed_parameter_is_told_with_both_lists():
    with pytest.raises(signatures.UnknownNovaError,
                       match=r'abort\(self\), but nova-rt expects \(self x\)'):
        signatures.check_signature(
            'nova.compute.claims:MoveClaim.abort', 'self x')


def test_a_name_that_is_gone_is_told():
    with pytest.raises(signatures.UnknownNovaError, match=r'has no .*gone'):
        signatures.check_signature('nova.compute.claims:Claim.gone', 'self')


def test_an_unknown_release_is_refused():
    with pytest.raises(signatures.UnknownNovaError, match=r'this is Nova 35\.0'):
        signatures.check_release('35.0.1')
