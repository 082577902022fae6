# SPDX-License-Identifier: Apache-2.0
"""Our TOSCA profile, and reservations in heat-translator.

Loaded by tosca-parser from the entry points ``toscaparser.extensions``. A
profile may contain types only, and heat-translator has no entry point for the
classes that translate them. The profile is loaded before anything is
translated, so this is also where those classes are replaced by ours.
"""

import importlib.util

VERSION = 'tosca_simple_profile_for_nfv_rt_1_0_0'
DEFINITIONS = 'definitions/nova_rt_nfv_types.yaml'


class Profile:
    """An extension as toscaparser.extensions.exttools expects it."""

    VERSION = VERSION
    DEFS_FILE = DEFINITIONS
    SECTIONS = ('metadata',)

    def __init__(self) -> None:
        # tosca-parser is also used without heat-translator.
        if importlib.util.find_spec('translator'):
            from tacker_rt import translation
            translation.install()
