# SPDX-License-Identifier: Apache-2.0
from oslo_config import cfg

def configure(conf: cfg.ConfigOpts) -> None: ...
