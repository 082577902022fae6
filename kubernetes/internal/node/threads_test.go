// SPDX-License-Identifier: Apache-2.0

package node_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"nova-rt/kubernetes/internal/cgroup"
	"nova-rt/kubernetes/internal/node"
	"nova-rt/kubernetes/internal/reservation"
)

func TestProcessThatWaitsInTheGroupGetsThePolicy(t *testing.T) {
	waiting := exec.Command("sleep", "60")
	if err := waiting.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = waiting.Process.Kill()
		_ = waiting.Wait()
	}()
	root := t.TempDir()
	threads := filepath.Join(root, "cgroup.threads")
	write := func(text string) {
		if err := os.WriteFile(threads, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	set := node.KernelThreads{Files: cgroup.Dir(root)}

	if err := set.Confine("", []int{0}); err != nil {
		t.Error("a directory without threads: ", err)
	}
	write(strconv.Itoa(waiting.Process.Pid) + "\n")
	if err := set.Confine("", []int{0}); err != nil {
		t.Error(err)
	}
	var cpus unix.CPUSet
	if err := unix.SchedGetaffinity(waiting.Process.Pid, &cpus); err != nil || cpus.Count() != 1 || !cpus.IsSet(0) {
		t.Error(cpus, err)
	}
	refused(t, set.Confine("", []int{1023}), "the kernel does not let the container run on the pCPUs [1023]")
	err := set.SetPolicy("", reservation.Init{Policy: "rr", Priority: 7})
	if errors.Is(err, unix.EPERM) {
		t.Skip("this process may not set real-time policies")
	}
	if err != nil {
		t.Fatal(err)
	}
	attr, err := unix.SchedGetAttr(waiting.Process.Pid, 0)
	if err != nil || attr.Policy != unix.SCHED_RR || attr.Priority != 7 {
		t.Errorf("%+v (%v)", attr, err)
	}
	write("0\n")
	refused(t, set.SetPolicy("", reservation.Init{Policy: "fifo", Priority: 1}), "hostPID: true")
	write("")
	refused(t, set.SetPolicy("", reservation.Init{Policy: "fifo", Priority: 1}), "has no process")
}
