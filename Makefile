# SPDX-License-Identifier: Apache-2.0
# Bootstraps tox and the Debian packages, then calls tox. See "make help".

PYTHON ?= /usr/bin/python3
MODE ?= auto
KEEP ?=
# An embedded demo (auto without root) needs no more than the tests do.
DEMO_NEEDS = $(if $(filter embedded,$(MODE)),,$(if $(filter 0,$(shell id -u)),stack)) \
    $(if $(filter hcbs%,$(MODE)),guest)

.PHONY: help demo test test-debian test-devstack test-experiments test-fresh test-guest test-horizon test-hosts test-kernel test-kolla test-kubernetes test-leases test-machines test-mano test-tempest unit tacker watcher functional kolla nova33 db e2e pep8 mypy cover bench experiments dist docs clean

help:  ## show this list
	@grep -hE '^[a-z0-9 -]+:.*##' $(MAKEFILE_LIST) | \
	    sed -E 's/^([a-z0-9 -]+):.*## /  make \1\t/' | expand -t 44

demo:  ## run the demo (KEEP=1: leave it running; MODE=vm|container|embedded|hcbs)
	@PYTHON=$(PYTHON) tools/prepare $(DEMO_NEEDS)
	@tools/stage -q demo --mode $(MODE) $(if $(KEEP),--keep)

test:  ## run most stages; the last line counts the tests
	@PYTHON=$(PYTHON) tools/prepare stack guest docs kubernetes
	@.venv/bin/python tools/run-tests pep8 mypy docs unit tacker watcher functional kolla \
	    db e2e machines mano kernel experiments kubernetes guest

unit tacker watcher functional pep8 mypy:  ## run one stage
	@PYTHON=$(PYTHON) tools/prepare
	@tools/stage $@

cover:  ## show which lines the unit tests do not reach
	@PYTHON=$(PYTHON) tools/prepare
	@tools/stage $@

kolla nova33:  ## check Kolla's images and roles; run functional on Nova 33
	@PYTHON=$(PYTHON) tools/prepare
	@.venv/bin/tox run -e $@

db:  ## test the migrations on real database servers
	@PYTHON=$(PYTHON) tools/prepare stack
	@tools/stage $@

e2e bench:  ## run the end-to-end tests or benchmarks on a real stack (root)
	@PYTHON=$(PYTHON) tools/prepare stack $(if $(filter bench,$@),kubernetes)
	@tools/stage $@

test-machines:  ## run virtual machines through a real OpenStack (root)
	@PYTHON=$(PYTHON) tools/prepare stack
	@tools/stage machines

test-hosts:  ## move virtual machines between two hosts of a real OpenStack (root)
	@PYTHON=$(PYTHON) tools/prepare stack
	@tools/stage hosts

test-leases:  ## lease reservations from a real Blazar (root)
	@PYTHON=$(PYTHON) tools/prepare stack
	@tools/stage leases

test-mano:  ## run VNFs through real Tacker, Heat, Nova and Neutron (root)
	@PYTHON=$(PYTHON) tools/prepare stack
	@tools/stage mano

test-horizon:  ## show our panel of Horizon to a browser, on a real stack (root)
	@PYTHON=$(PYTHON) tools/prepare stack horizon
	@tools/stage horizon

test-tempest:  ## run the tempest tests on a real stack (root)
	@PYTHON=$(PYTHON) tools/prepare stack
	@tools/stage tempest

test-guest:  ## test compute nodes on our kernel, in virtual machines (root)
	@PYTHON=$(PYTHON) tools/prepare stack guest
	@tools/stage guest

test-debian:  ## run virtual machines on a node with Debian's own kernel (root)
	@PYTHON=$(PYTHON) tools/prepare stack guest
	@tools/stage debian

test-devstack:  ## run DevStack's stack.sh with our plug-in in a machine of its own (root)
	@devstack/real/test

test-fresh:  ## run the demo on a fresh Debian 13 (FULL=1: and 12) (root)
	@for release in trixie $(if $(FULL),bookworm); do \
	    tools/fresh-root $$release make demo MODE=$(MODE) || exit 1; done

test-kernel:  ## test our kernel and the stock one in QEMU
	@kernel/test

test-kolla:  ## deploy Kolla's cloud with our additions in a machine of its own (root)
	@kolla/real/test

test-kubernetes:  ## test the Kubernetes driver with a real control plane (FULL=1: and a node)
	@PYTHON=$(PYTHON) tools/prepare kubernetes $(if $(FULL),guest)
	@.venv/bin/tox run -e kubernetes

test-experiments:  ## run small versions of the experiments in virtual time
	@PYTHON=$(PYTHON) tools/prepare
	@tools/stage experiments

experiments:  ## run one of the experiments (NAME=queueing, ...)
	@PYTHON=$(PYTHON) tools/prepare
	@tools/stage -q experiment $(or $(NAME),--help)

dist:  ## build wheels and sdists into dist, twice, and compare
	@rm -rf dist
	@PYTHON=$(PYTHON) tools/prepare
	@.venv/bin/tox run -e $@

docs:  ## build documentation and release notes into doc/build
	@PYTHON=$(PYTHON) tools/prepare docs
	@tools/stage $@

clean:  ## stop stacks that still run, remove everything that was built
	@for site in run/*/site.json; do \
	    [ -e "$$site" ] || continue; dir=$${site%/site.json}; \
	    [ -x .tox/nova/bin/python ] || { echo "The stack in $$dir is stopped" \
	        "by .tox/nova, which is missing: run \"make mypy\" to create it," \
	        "then \"make clean\" again." >&2; exit 1; }; \
	    .tox/nova/bin/python -m stack --run-dir "$$dir" down || exit 1; done
	rm -rf .venv .tox build dist doc/build releasenotes/build run *.egg-info
