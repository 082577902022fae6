// SPDX-License-Identifier: Apache-2.0

package node

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"nova-rt/kubernetes/internal/cgroup"
	"nova-rt/kubernetes/internal/policy"
	"nova-rt/kubernetes/internal/reservation"
)

// How often threads are looked for that the runtime's process has started meanwhile.
const tries = 20

const threadsFile = "cgroup.threads"

// KernelThreads sets policies by sched_setattr().
//
// Not by NRI's scheduler attributes: runc sets those while the group has no budget yet,
// which some dialects refuse, and versions before 1.2 ignore them without a word.
type KernelThreads struct{ Files cgroup.Files }

// Confine implements Threads. A directory that stands in for control groups has no threads.
func (k KernelThreads) Confine(group string, pcpus []int) error {
	if !k.Files.Has(group, threadsFile) {
		return nil
	}
	var set unix.CPUSet
	for _, pcpu := range pcpus {
		set.Set(pcpu)
	}
	return k.each(group, func(thread int) error {
		if err := unix.SchedSetaffinity(thread, &set); err != nil {
			return fmt.Errorf("the kernel does not let the container run on the pCPUs %v: %w", pcpus, err)
		}
		return nil
	})
}

// SetPolicy implements Threads. The program that the threads execute later keeps it.
func (k KernelThreads) SetPolicy(group string, init reservation.Init) error {
	number, known := policy.Number(init.Policy)
	if !known {
		return fmt.Errorf("the record of the claim has the policy %q: give one of %s", init.Policy,
			strings.Join(policy.Names(), ", "))
	}
	attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: number, Priority: uint32(init.Priority)}
	return k.each(group, func(thread int) error {
		if err := unix.SchedSetAttr(thread, &attr, 0); err != nil {
			return fmt.Errorf("the kernel gives the container no SCHED_%s: %w", strings.ToUpper(init.Policy), err)
		}
		return nil
	})
}

// each does something to all threads of a group, those that are started meanwhile included.
func (k KernelThreads) each(group string, do func(thread int) error) error {
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
			if err := do(thread); err != nil && !errors.Is(err, unix.ESRCH) {
				return err
			}
			done[thread] = true
		}
		if len(done) == before && before > 0 {
			return nil
		}
	}
	return fmt.Errorf("the control group /%s has no process, or ever new ones: the container cannot be started", group)
}

func (k KernelThreads) threads(group string) ([]int, error) {
	text, err := k.Files.Read(group, threadsFile)
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
