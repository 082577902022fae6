// SPDX-License-Identifier: Apache-2.0

package cgroup

import (
	"os"
	"path/filepath"
	"testing"

	"nova-rt/kubernetes/internal/bandwidth"
)

// machine writes files below a directory and returns it as a machine's.
func machine(t *testing.T, files map[string]string) Limits {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return Limits{Proc: filepath.Join(root, "proc"), Sysfs: filepath.Join(root, "sys")}
}

func TestKernelAdmitsWhatItsServersLeave(t *testing.T) {
	files := map[string]string{
		"proc/sys/kernel/sched_rt_runtime_us": "950000\n",
		"proc/sys/kernel/sched_rt_period_us":  "1000000\n",
		"proc/sys/kernel/osrelease":           "6.12.117\n",
	}
	for _, c := range []struct {
		add  map[string]string
		want int64
	}{
		// Figure 5's 40% + 50% is 943718.
		{nil, 943719},
		{map[string]string{"proc/sys/kernel/osrelease": "7.1.0", "sys/kernel/sched_ext/state": "disabled"},
			943719 - afterBoot},
		{map[string]string{
			"sys/kernel/debug/sched/fair_server/cpu0/runtime": "0",
			"sys/kernel/debug/sched/fair_server/cpu0/period":  "1000000000"}, 996147},
		{map[string]string{"proc/sys/kernel/sched_rt_runtime_us": "-1"}, bandwidth.Unit - afterBoot},
	} {
		all := map[string]string{}
		for _, source := range []map[string]string{files, c.add} {
			for name, text := range source {
				all[name] = text
			}
		}
		got, err := machine(t, all).Admitted(multi{})
		if err != nil || got != c.want {
			t.Errorf("with %v the kernel admits %d, not %d (%v)", c.add, got, c.want, err)
		}
	}
}

func TestPoolOfTheRootGroupLimits(t *testing.T) {
	limits := machine(t, map[string]string{
		"proc/sys/kernel/sched_rt_runtime_us": "950000",
		"proc/sys/kernel/sched_rt_period_us":  "1000000",
		"cgroup/cpu.rt.max":                   "300000 1000000",
	})
	root := Dir(filepath.Join(filepath.Dir(limits.Proc), "cgroup"))
	got, err := limits.Admitted(everyPCPU{root, 2})
	if err != nil || got != bandwidth.Of(3, 10) {
		t.Errorf("admitted %d (%v)", got, err)
	}
	if err := root.Write("", "cpu.rt.max", "0 1000000"); err != nil {
		t.Fatal(err)
	}
	if _, err := limits.Admitted(everyPCPU{root, 2}); err == nil {
		t.Error("a pool of 0 admits nothing, but is not refused")
	}
}

func TestListsOfTimesAndPCPUs(t *testing.T) {
	root := Dir(t.TempDir())
	file := filepath.Join(string(root), "cpu.rt_runtime_us")
	period := filepath.Join(string(root), "cpu.rt_period_us")
	l := list{root, 4}
	for _, c := range []struct {
		runtimes, periods string
		want              Budget
	}{
		{"0 0 0 0", "0 0 0 0", Budget{defaultPeriod, []int64{0, 0, 0, 0}}},
		{"400 0,2 0 1,3", "1000 0-3", Budget{1000, []int64{400, 0, 400, 0}}},
		{"400 1 0 0", "1000", Budget{1000, []int64{0, 400, 0, 0}}},
		{"400 0 300 200", "1000 1000 1000 1000", Budget{1000, []int64{400, 0, 300, 200}}},
		{"-1", "1000 1000 1000 1000", Budget{1000, []int64{0, 0, 0, 0}}},
		{"100 0 0 0", "400 800 800 800", Budget{800, []int64{200, 0, 0, 0}}},
	} {
		for path, text := range map[string]string{file: c.runtimes, period: c.periods} {
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := l.Read("")
		if err != nil || !got.Equal(c.want) {
			t.Errorf("%q, %q is read as %v, not %v (%v)", c.runtimes, c.periods, got, c.want, err)
		}
	}
	if err := l.Write("", Budget{2000, []int64{0, 500, 0, 500}}); err != nil {
		t.Fatal(err)
	}
	if text, _ := readLine(root, "", "cpu.rt_runtime_us"); text != "0 0,2 500 1,3" {
		t.Errorf("written as %q", text)
	}
	if text, _ := readLine(root, "", "cpu.rt_period_us"); text != "2000 0,1,2,3" {
		t.Errorf("period written as %q", text)
	}
}

func TestRefusalsSayWhatToDo(t *testing.T) {
	root := Dir(t.TempDir())
	if err := os.MkdirAll(filepath.Join(string(root), "a"), 0o755); err != nil {
		t.Fatal(err)
	}
	_, err := Detect(root, "kubepods.slice", 2)
	if err == nil || err.Error() != "there is no control group /kubepods.slice: start the kubelet first, "+
		"and name its group for pods by --top if it has another name" {
		t.Error(err)
	}
	if _, err := Detect(root, "a", 2); err == nil {
		t.Error("a group without real-time files has a dialect")
	}
	if err := root.Write("a", "cpu.rt.max", "1 2"); err == nil || root.Has("a", "cpu.rt.max") {
		t.Errorf("a control file that is not there was written: %v", err)
	}
	if err := root.Write("b", "cpu.rt.max", "1 2"); ifPresent(err) != nil {
		t.Errorf("a group that has gone: %v", err)
	}
}
