# SPDX-License-Identifier: Apache-2.0
"""Our TOSCA profile, and honoured reservations in heat-translator.

Loaded by tosca-parser from the entry points ``toscaparser.extensions``. A
profile may bring types only; heat-translator has no entry point for what
translates them. So, as the profile is loaded before anything is translated,
this is also where the classes that translate VDUs are replaced by ours.
"""

import importlib.util

VERSION = 'tosca_simple_profile_for_nfv_rt_1_0_0'
DEFINITIONS = 'definitions/nova_rt_nfv_types.yaml'


class Profile:
    """What toscaparser.extensions.exttools asks of an extension."""

    VERSION = VERSION
    DEFS_FILE = DEFINITIONS
    SECTIONS = ('metadata',)

    def __init__(self) -> None:
        # tosca-parser is used without heat-translator too.
        if importlib.util.find_spec('translator'):
            from tacker_rt import translation
            translation.install()
