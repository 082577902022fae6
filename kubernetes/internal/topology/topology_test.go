// SPDX-License-Identifier: Apache-2.0

package topology

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestTopologyIsReadFromSysfs(t *testing.T) {
	sysfs := t.TempDir()
	for name, text := range map[string]string{
		"devices/system/cpu/online":         "0-2,5\n",
		"devices/system/cpu/possible":       "0-7\n",
		"devices/system/node/node0/cpulist": "0-1\n",
		"devices/system/node/node1/cpulist": "2,5\n",
	} {
		path := filepath.Join(sysfs, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	pcpus, err := Read(sysfs)
	if err != nil || !slices.Equal(pcpus, []PCPU{{0, 0}, {1, 0}, {2, 1}, {5, 1}}) {
		t.Errorf("%v (%v)", pcpus, err)
	}
	if possible, err := Possible(sysfs); possible != 8 {
		t.Errorf("%d pCPUs are possible (%v)", possible, err)
	}
}

func TestListsOfPCPUs(t *testing.T) {
	for text, want := range map[string][]int{"": nil, "3": {3}, "0-2,5": {0, 1, 2, 5}, "4,0-1,1": {0, 1, 4}} {
		if got, err := ParseList(text); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q is %v, not %v (%v)", text, got, want, err)
		}
	}
	for _, text := range []string{"a", "2-1", "-1", "1,,2", "99999"} {
		if got, err := ParseList(text); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}
