// SPDX-License-Identifier: Apache-2.0

package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"nova-rt/kubernetes/internal/bandwidth"
)

// What each of the kernel's own servers takes unless debugfs says otherwise.
var afterBoot = bandwidth.Of(50_000, 1_000_000)

// Limits are where a kernel says what it admits.
type Limits struct {
	Proc, Sysfs string
}

// Admitted returns the bandwidth that the kernel admits on one pCPU, whatever is asked
// for: what its own servers leave of the global limit, within the pool of the root group.
func (l Limits) Admitted(dialect Dialect) (int64, error) {
	global, err := l.global()
	if err != nil {
		return 0, err
	}
	admitted := global - l.kernelServers()
	pool, has, err := dialect.Pool()
	if err != nil {
		return 0, err
	}
	if has {
		admitted = min(admitted, pool)
	}
	if admitted <= 0 {
		return 0, errors.New("the kernel admits no reservation: raise kernel.sched_rt_runtime_us " +
			"and the budget of the root group, and see nova-rt's operator guide")
	}
	return admitted, nil
}

func (l Limits) global() (int64, error) {
	runtime, err := l.sysctl("sched_rt_runtime_us")
	if err != nil {
		return 0, err
	}
	if runtime < 0 {
		return bandwidth.Unit, nil
	}
	period, err := l.sysctl("sched_rt_period_us")
	if err != nil {
		return 0, err
	}
	return bandwidth.Of(runtime, period), nil
}

func (l Limits) sysctl(name string) (int64, error) {
	number, err := readNumber(filepath.Join(l.Proc, "sys/kernel", name))
	if err != nil {
		return 0, fmt.Errorf("the kernel's limit cannot be read: %w", err)
	}
	return number, nil
}

// kernelServers returns the most that the fair server and, since Linux 7.0, the one of
// sched_ext take of a pCPU. Where debugfs cannot be read, both take what they have after
// boot.
func (l Limits) kernelServers() int64 {
	servers, _ := filepath.Glob(filepath.Join(l.Sysfs, "kernel/debug/sched/*_server/cpu*"))
	total := map[string]int64{}
	for _, server := range servers {
		runtime, err := readNumber(filepath.Join(server, "runtime"))
		if err != nil {
			return l.serversAfterBoot()
		}
		period, err := readNumber(filepath.Join(server, "period"))
		if err != nil || period <= 0 {
			return l.serversAfterBoot()
		}
		total[filepath.Base(server)] += bandwidth.Of(runtime, period)
	}
	if len(total) == 0 {
		return l.serversAfterBoot()
	}
	var most int64
	for _, taken := range total {
		most = max(most, taken)
	}
	return most
}

func (l Limits) serversAfterBoot() int64 {
	if l.hasExtServer() {
		return 2 * afterBoot
	}
	return afterBoot
}

func (l Limits) hasExtServer() bool {
	release, err := os.ReadFile(filepath.Join(l.Proc, "sys/kernel/osrelease"))
	if err != nil {
		return true
	}
	major, _, _ := strings.Cut(string(release), ".")
	number, err := strconv.Atoi(major)
	if err != nil {
		return true
	}
	_, err = os.Stat(filepath.Join(l.Sysfs, "kernel/sched_ext"))
	return err == nil && number >= 7
}

func readNumber(path string) (int64, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
}
