# SPDX-License-Identifier: Apache-2.0
"""The operator's API, served by nova-api's own processes below ``/rt``.

``api-paste.ini`` names it (:mod:`nova_rt.api.paste_ini`); :mod:`nova_rt.rest.deploy`
puts it together, and :mod:`nova_rt.rest.routes` lists all that it answers.
"""
