// SPDX-License-Identifier: Apache-2.0

// Package fakekernel is a fake of the kernel's real-time control groups for tests, in
// memory: it speaks hcbs-multi or hcbs-max, and admits every single write as HCBS does.
package fakekernel

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"nova-rt/kubernetes/internal/bandwidth"
	"nova-rt/kubernetes/internal/cgroup"
)

type group struct {
	period   int64
	runtimes []int64 // nil: no budget of its own
	rtTasks  bool
}

// Kernel is one; safe for several goroutines.
type Kernel struct {
	mutex  sync.Mutex
	count  int
	every  bool
	limit  int64
	groups map[string]*group
	// Writes are all that were admitted.
	Writes []string
	// Refuse is asked before each write; an error of it is the kernel's.
	Refuse func(group, name, text string) error
}

// New returns a kernel with so many pCPUs and hcbs-multi, which admits so much on each.
func New(count int, limit int64) *Kernel {
	k := &Kernel{count: count, limit: limit, groups: map[string]*group{}}
	k.groups[""] = &group{period: 1_000_000, runtimes: k.all(950_000)}
	return k
}

// Every makes it speak hcbs-max.
func (k *Kernel) Every() *Kernel {
	k.every = true
	return k
}

// Mkdir makes a group and those above it.
func (k *Kernel) Mkdir(name string) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	for ; name != ""; name = parent(name) {
		if k.groups[name] == nil {
			k.groups[name] = &group{period: 1_000_000}
		}
	}
}

// Rmdir removes a group with all below it.
func (k *Kernel) Rmdir(name string) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	maps.DeleteFunc(k.groups, func(other string, _ *group) bool {
		return other == name || strings.HasPrefix(other, name+"/")
	})
}

// SetRTTasks says whether real-time tasks run in a group.
func (k *Kernel) SetRTTasks(name string, run bool) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.groups[name].rtTasks = run
}

// Held returns what all groups have, those without a budget left out.
func (k *Kernel) Held() map[string][]int64 {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	held := map[string][]int64{}
	for name, group := range k.groups {
		if group.runtimes != nil && name != "" {
			held[name] = slices.Clone(group.runtimes)
		}
	}
	return held
}

// Has implements cgroup.Files.
func (k *Kernel) Has(name, file string) bool {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	_, found := k.groups[name]
	if file == "" || !found {
		return found
	}
	return k.every == (file == "cpu.rt.max") && strings.HasPrefix(file, "cpu.rt") &&
		file != "cpu.rt_runtime_us"
}

// Children implements cgroup.Files.
func (k *Kernel) Children(name string) []string {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	return k.children(name)
}

func (k *Kernel) children(name string) []string {
	var found []string
	for other := range k.groups {
		if other != "" && parent(other) == name {
			found = append(found, other)
		}
	}
	slices.Sort(found)
	return found
}

// Read implements cgroup.Files.
func (k *Kernel) Read(name, file string) (string, error) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	group := k.groups[name]
	if group == nil {
		return "", fmt.Errorf("the control group /%s has gone: %w", name, cgroup.ErrGone)
	}
	switch file {
	case "cpu.rt_multi_runtime_us":
		if group.runtimes == nil {
			return words(k.all(-1)), nil
		}
		return words(group.runtimes), nil
	case "cpu.rt_period_us":
		return strconv.FormatInt(group.period, 10), nil
	case "cpu.rt.max":
		if group.runtimes == nil {
			return fmt.Sprintf("max %d", group.period), nil
		}
		return fmt.Sprintf("%d %d", group.runtimes[0], group.period), nil
	}
	return "", nil
}

// Write implements cgroup.Files.
func (k *Kernel) Write(name, file, text string) error {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if k.Refuse != nil {
		if err := k.Refuse(name, file, text); err != nil {
			return err
		}
	}
	held := k.groups[name]
	if held == nil {
		return fmt.Errorf("the control group /%s has gone: %w", name, cgroup.ErrGone)
	}
	wanted := *held
	numbers := parse(text)
	switch file {
	case "cpu.rt_multi_runtime_us":
		wanted.runtimes = numbers
	case "cpu.rt_period_us":
		wanted.period = numbers[0]
	case "cpu.rt.max":
		wanted.runtimes, wanted.period = k.all(numbers[0]), numbers[1]
	}
	if errno := k.admit(name, wanted); errno != 0 {
		return &cgroup.RefusalError{Errno: errno, Sentence: fmt.Sprintf(
			"The kernel refused %s in /%s/%s (%v).", text, name, file, errno)}
	}
	*held = wanted
	k.Writes = append(k.Writes, fmt.Sprintf("%s/%s=%s", name, file, text))
	return nil
}

// admit checks one group as tg_set_rt_bandwidth() with HCBS does.
func (k *Kernel) admit(name string, wanted group) syscall.Errno {
	if wanted.runtimes == nil {
		return 0
	}
	for pcpu := range k.count {
		runtime := wanted.runtimes[pcpu]
		if runtime > wanted.period || runtime == 1 {
			return syscall.EINVAL
		}
		if k.below(name, pcpu) > bandwidth.Of(runtime, wanted.period) {
			return syscall.EINVAL
		}
		above, most := parent(name), k.limit
		for above != "" && k.groups[above].runtimes == nil {
			above = parent(above)
		}
		if above != "" {
			most = bandwidth.Of(k.groups[above].runtimes[pcpu], k.groups[above].period)
		}
		others := k.below(above, pcpu)
		if held := k.groups[name]; held.runtimes != nil {
			others -= bandwidth.Of(held.runtimes[pcpu], held.period)
		} else {
			others -= k.below(name, pcpu)
		}
		if others+bandwidth.Of(runtime, wanted.period) > most {
			return syscall.EINVAL
		}
	}
	if slices.Max(wanted.runtimes) == 0 && k.groups[name].rtTasks {
		return syscall.EBUSY
	}
	return 0
}

// below returns the bandwidth of the groups whose budgets are taken from a group's.
func (k *Kernel) below(name string, pcpu int) int64 {
	var total int64
	for _, child := range k.children(name) {
		if group := k.groups[child]; group.runtimes != nil {
			total += bandwidth.Of(group.runtimes[pcpu], group.period)
		} else {
			total += k.below(child, pcpu)
		}
	}
	return total
}

func (k *Kernel) all(runtime int64) []int64 {
	return slices.Repeat([]int64{runtime}, k.count)
}

func parent(name string) string {
	return name[:max(0, strings.LastIndexByte(name, '/'))]
}

func words(numbers []int64) string {
	return strings.Trim(fmt.Sprint(numbers), "[]")
}

func parse(text string) []int64 {
	var numbers []int64
	for word := range strings.FieldsSeq(text) {
		number, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			panic("the fake kernel cannot read " + text)
		}
		numbers = append(numbers, number)
	}
	return numbers
}
