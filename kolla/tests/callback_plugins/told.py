# SPDX-License-Identifier: Apache-2.0
"""Prints each result of a task as one line of JSON, for these tests."""

import json

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = """
name: told
type: stdout
short_description: one line of JSON for each result
description: Prints the name of each task with its result.
"""


class CallbackModule(CallbackBase):
    """See ansible.plugins.callback."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = 'stdout'
    CALLBACK_NAME = 'told'

    def _tell(self, result, **more):
        name = result.task.get_name().partition(' : ')[2]
        print(json.dumps({'task': name or result.task.get_name(),
                          **json.loads(self._dump_results(result.result)),
                          **more}))

    def v2_runner_on_ok(self, result):
        self._tell(result)

    def v2_runner_on_skipped(self, result):
        self._tell(result, skipped=True)

    def v2_runner_on_failed(self, result, ignore_errors=False):
        self._tell(result, failed=True)
