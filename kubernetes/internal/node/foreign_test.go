// SPDX-License-Identifier: Apache-2.0

package node_test

import (
	"context"
	"testing"

	resourceapi "k8s.io/api/resource/v1"

	"nova-rt/kubernetes/internal/node"
)

// foreign is a container of another pod whose environment names a claim, and which started
// while the driver was down.
func (r *rig) foreign(c *resourceapi.ResourceClaim) node.Container {
	r.Helper()
	box := r.container(c, "s1")
	box.Pod, box.Group, box.Name = "pod-foreign", top+"/pod-foreign/s1", "foreign"
	r.kernel.Mkdir(box.Group)
	r.start(box)
	return box
}

func TestContainerThatOnlyNamesAClaimKeepsItFromNobody(t *testing.T) {
	r := newRig(t, 1)
	c := r.allocated("a", 60_000, 100_000, 0)
	r.prepare(c)
	box := r.foreign(c)
	if err := r.run(r.container(c, "c1")); err != nil {
		t.Fatal(err)
	}
	if err := r.Reconcile(); err != nil {
		t.Fatal(err)
	}
	r.held(top+"/pod-a/c1", 60_000)
	if held := r.kernel.Held()[box.Group]; len(held) > 0 && held[0] > 0 {
		t.Error(held)
	}
}

func TestContainerThatOnlyNamesAClaimKeepsNoRecord(t *testing.T) {
	r := newRig(t, 1)
	c := r.allocated("a", 60_000, 100_000, 0)
	r.prepare(c)
	r.foreign(c)
	delete(r.api, "default/a")
	if err := r.CollectGarbage(context.Background()); err != nil {
		t.Fatal(err)
	}
	if record, err := r.config.Records.Get(string(c.UID)); record != nil || err != nil {
		t.Error(record, err)
	}
}

func TestTwoContainersOfAPodAreNotBothGivenItsClaim(t *testing.T) {
	r := newRig(t, 1)
	c := r.allocated("a", 30_000, 100_000, 0)
	r.prepare(c)
	main := r.container(c, "c1")
	side := main
	side.ID, side.Name, side.Group = "c2", "side", top+"/pod-a/c2"
	if err := r.run(main); err != nil {
		t.Fatal(err)
	}
	r.kernel.Mkdir(side.Group)
	r.start(main, side)
	refused(t, r.Reconcile(), "is used by the container main already: give the container side a claim of its own")
	r.held(main.Group, 30_000)
	if held := r.kernel.Held()[side.Group]; len(held) > 0 && held[0] > 0 {
		t.Error(held)
	}
}
