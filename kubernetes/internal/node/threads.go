// SPDX-License-Identifier: Apache-2.0

package node

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"nova-rt/kubernetes/internal/cgroup"
	"nova-rt/kubernetes/internal/reservation"
)

// How often threads are looked for that the runtime's process has started meanwhile.
const tries = 20

var policies = map[string]uint32{"fifo": unix.SCHED_FIFO, "rr": unix.SCHED_RR}

// KernelThreads sets policies by sched_setattr().
//
// Not by NRI's scheduler attributes: runc sets those while the group has no budget yet,
// which some dialects refuse, and versions before 1.2 ignore them without a word.
type KernelThreads struct{ Files cgroup.Files }

// SetPolicy implements Threads. The program that the threads execute later keeps it.
func (k KernelThreads) SetPolicy(group string, init reservation.Init) error {
	done := map[int]bool{}
	for range tries {
		threads, err := k.threads(group)
		if err != nil {
			return err
		}
		before := len(done)
		for _, thread := range threads {
			if done[thread] {
				continue
			}
			attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: policies[init.Policy],
				Priority: uint32(init.Priority)}
			if err := unix.SchedSetAttr(thread, &attr, 0); err != nil && !errors.Is(err, unix.ESRCH) {
				return fmt.Errorf("the kernel gives the container no SCHED_%s: %w",
					strings.ToUpper(init.Policy), err)
			}
			done[thread] = true
		}
		if len(done) == before && before > 0 {
			return nil
		}
	}
	return fmt.Errorf("the control group /%s has no process, or ever new ones: the container cannot be "+
		"given %s", group, init.Policy)
}

// Plain implements Threads.
func (k KernelThreads) Plain(group string) (bool, error) {
	threads, err := k.threads(group)
	if err != nil {
		// One that has ended needs no policy.
		if errors.Is(err, cgroup.ErrGone) {
			err = nil
		}
		return false, err
	}
	seen := false
	for _, thread := range threads {
		attr, err := unix.SchedGetAttr(thread, 0)
		if errors.Is(err, unix.ESRCH) {
			continue
		}
		if err != nil {
			return false, fmt.Errorf("the kernel does not say which policy the container has: %w", err)
		}
		switch attr.Policy {
		case unix.SCHED_FIFO, unix.SCHED_RR, unix.SCHED_DEADLINE:
			return false, nil
		}
		seen = true
	}
	return seen, nil
}

func (k KernelThreads) threads(group string) ([]int, error) {
	text, err := k.Files.Read(group, "cgroup.threads")
	if err != nil {
		return nil, err
	}
	var threads []int
	for word := range strings.FieldsSeq(text) {
		thread, err := strconv.Atoi(word)
		if err != nil || thread == 0 {
			return nil, fmt.Errorf("the processes of the control group /%s cannot be seen from here: run the "+
				"driver with hostPID: true", group)
		}
		threads = append(threads, thread)
	}
	return threads, nil
}
