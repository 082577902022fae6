// SPDX-License-Identifier: Apache-2.0

package nri

import "testing"

func TestControlGroupOfAContainer(t *testing.T) {
	for path, want := range map[string]string{
		"/kubepods/burstable/pod1/abc": "kubepods/burstable/pod1/abc",
		"kubepods-burstable-pod1_2.slice:cri-containerd:abc": "kubepods.slice/kubepods-burstable.slice/" +
			"kubepods-burstable-pod1_2.slice/cri-containerd-abc.scope",
		"kubepods-podx.slice:cri-containerd:abc": "kubepods.slice/kubepods-podx.slice/cri-containerd-abc.scope",
	} {
		if got, err := groupOf(path); err != nil || got != want {
			t.Errorf("%q is %q, not %q (%v)", path, got, want, err)
		}
	}
	for _, path := range []string{"", "a:b", "a:b:c", "a.slice:b:c:d"} {
		if got, err := groupOf(path); err == nil {
			t.Errorf("%q is %q", path, got)
		}
	}
}
