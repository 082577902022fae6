# SPDX-License-Identifier: Apache-2.0
from nova.compute import claims as nova_claims
import pytest

from nova_rt import signatures
from nova_rt.compute import claims
from nova_rt.compute import hooks


@pytest.mark.parametrize(('name', 'parameters'),
                         sorted(hooks.EXPECTED.items()))
def test_this_nova_is_as_expected(name, parameters):
    signatures.check_signature(name, parameters)


def test_nova_finds_its_own_claims_where_it_looks_for_them():
    assert nova_claims.MoveClaim is not claims.MoveClaim
    assert issubclass(claims.MoveClaim, nova_claims.MoveClaim)
    assert issubclass(claims.Claim, nova_claims.Claim)
