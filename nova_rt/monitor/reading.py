# SPDX-License-Identifier: Apache-2.0
"""Reads what a container tells now, for those who do not wait for news."""

from __future__ import annotations

import contextlib

from nova_rt.monitor import folder
from nova_rt.monitor import record


def of_container(init: int) -> list[record.Record]:
    """Return what the activities of a container tell; nonsense is left out.

    :param init: its first process
    :raises ProcessLookupError: if there is no such process
    """
    found = []
    process = folder.Process(init)
    try:
        records = folder.Folder(process)
        records.find()
        try:
            for name, data in records.contents():
                with contextlib.suppress(record.RecordError):
                    told = record.decode(data)
                    if told.name == name:
                        found.append(told)
        finally:
            records.close()
    finally:
        process.close()
    return found
