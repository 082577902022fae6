// SPDX-License-Identifier: Apache-2.0

package node_test

import "testing"

func TestWhatAnEndedContainerLeavesAboveKeepsNoOtherFromStarting(t *testing.T) {
	r := newRig(t, 1)
	c, box := r.used("a", "c1")
	// The runtime says so first; the pod's group stays until the kubelet removes it.
	if err := r.Stopped(); err != nil {
		t.Fatal(err)
	}
	r.kernel.Rmdir(box.Group)
	if err := r.Unprepare(string(c.UID)); err != nil {
		t.Fatal(err)
	}
	_, next := r.used("b", "c2")
	r.held(next.Group, 60_000)
	r.held(top+"/pod-a", 0)
}
