# SPDX-License-Identifier: Apache-2.0
"""Glance, and the images the demo boots."""

from collections.abc import Mapping
from pathlib import Path
import shutil
import sys
from typing import Any

from stack import ini
from stack.image import build
from stack.service import Service
from stack.service import WsgiService
from stack.services import keystone


class GlanceSchema(Service):
    """Glance's configuration and database."""

    name = 'glance-schema'
    needs_to_prepare = ('mariadb',)

    def prepare(self) -> None:
        """Write glance-api.conf and create the schema."""
        etc = self.site.rundir.etc / 'glance'
        data = self.site.rundir.data / 'glance'
        for name in ('images', 'os_glance_staging_store', 'tasks'):
            (data / name).mkdir(parents=True, exist_ok=True)
        ini.write(etc / 'glance-api.conf', {
            'DEFAULT': {
                'use_stderr': True, 'enabled_backends': 'file:file',
                'node_staging_uri': f'file://{data}/staging'},
            'database': {'connection': self.site.database('glance')},
            'glance_store': {'default_backend': 'file'},
            'file': {'filesystem_store_datadir': data / 'images'},
            'os_glance_staging_store': {
                'filesystem_store_datadir':
                    data / 'os_glance_staging_store'},
            'os_glance_tasks_store': {
                'filesystem_store_datadir': data / 'tasks'},
            'image_cache': {},
            'keystone_authtoken': keystone.authtoken(self.site, 'glance'),
            'paste_deploy': {'flavor': 'keystone'},
        })
        shipped = Path(sys.prefix) / 'etc' / 'glance'
        shutil.copy(shipped / 'glance-api-paste.ini', etc)
        self.site.processes.run('glance-schema', (
            self.site.script('glance-manage'), '--config-file',
            str(etc / 'glance-api.conf'), 'db', 'sync'))


class Glance(WsgiService):
    """The image API."""

    name = 'glance'
    needs = ('glance-schema',)
    application = 'glance.wsgi.api'
    # Nova uploads a snapshot line by line, each in a chunk of its own. A disk of zeros
    # is one line, and uWSGI takes chunks of a megabyte unless told otherwise.
    options = ('--chunked-input-limit', str(64 << 20))

    def environment(self) -> Mapping[str, str]:
        """Return where glance-api.conf is."""
        return {
            'OS_GLANCE_CONFIG_DIR': str(self.site.rundir.etc / 'glance')}


class MachineImage(Service):
    """The disk of virtual machines that burn CPU, in place of the containers' images."""

    name = 'images'
    needs = ('glance', 'catalogue')

    def prepare(self) -> None:
        """Assemble the disk."""
        build.build_machine(self.site.rundir.data, self.site.processes.run)

    def start(self) -> None:
        """Upload it."""
        images: Any = keystone.cloud(self.site).image
        image = images.create_image(
            build.MACHINE, disk_format='raw', container_format='bare', min_disk=1,
            visibility='public', hypervisor_type='qemu')
        image.data = (self.site.rundir.data / f'{build.MACHINE}.raw').read_bytes()
        image.upload(images)


class Images(Service):
    """The container images, built here and uploaded."""

    name = 'images'
    needs = ('glance', 'catalogue')

    def prepare(self) -> None:
        """Build the images from Debian's busybox and our two programs."""
        directory = self.site.rundir.data / 'built-images'
        directory.mkdir(parents=True, exist_ok=True)
        for name in build.IMAGES:
            build.build(name, directory, self.site.processes.run)

    def start(self) -> None:
        """Upload the images as public raw images."""
        images: Any = keystone.cloud(self.site).image
        for name in build.IMAGES:
            image = images.create_image(
                name, disk_format='raw', container_format='bare', min_disk=1,
                visibility='public')
            path = self.site.rundir.data / 'built-images' / f'{name}.raw'
            with path.open('rb') as content:
                image.data = content
                image.upload(images)
