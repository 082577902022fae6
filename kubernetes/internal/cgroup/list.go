// SPDX-License-Identifier: Apache-2.0

package cgroup

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"nova-rt/kubernetes/internal/topology"
)

// list is hcbs-list of the research branches: lists of times and pCPUs in the files of
// stock groups. Read, a file has a time for each pCPU; written, a time and a list of
// pCPUs, repeated, and 0 for the pCPUs not named. The root group has one time only.
type list struct {
	files Files
	count int
}

func (list) Name() string { return "hcbs-list" }

func (list) Every() bool { return false }

// Bounded: a new group has runtime 0, so every group has a budget.
func (list) Bounded(string) (bool, error) { return true, nil }

// Read gives runtimes for the longest period.
func (l list) Read(group string) (Budget, error) {
	runtimes, err := l.times(group, listRuntime)
	if err != nil {
		return Budget{}, err
	}
	periods, err := l.times(group, periodFile)
	if err != nil {
		return Budget{}, err
	}
	longest := slices.Max(periods)
	if longest == 0 {
		longest = defaultPeriod
	}
	return Budget{longest, pairwise(runtimes, periods, func(runtime, period int64) int64 {
		if period == 0 {
			return 0
		}
		return (runtime*longest + period - 1) / period
	})}, nil
}

func (l list) Write(group string, wanted Budget) error {
	runtimes, err := l.times(group, listRuntime)
	if err != nil {
		return err
	}
	periods, err := l.times(group, periodFile)
	if err != nil {
		return err
	}
	held := Budget{Period: periods[0], Runtimes: runtimes}
	if slices.ContainsFunc(periods, func(period int64) bool { return period != periods[0] }) {
		// Not one period: no single one is held, so it is written in any case.
		held.Period = 0
	}
	return writeTimes(held, wanted, func(runtimes []int64) error {
		return l.files.Write(group, listRuntime, asList(runtimes))
	}, func(period int64) error {
		return l.files.Write(group, periodFile, asList(slices.Repeat([]int64{period}, l.count)))
	})
}

func (l list) Pool() (int64, bool, error) { return pool(l) }

func (l list) times(group, name string) ([]int64, error) {
	text, err := readLine(l.files, group, name)
	if err != nil {
		return nil, err
	}
	fields := strings.Fields(text)
	if namePCPUs(fields) {
		return l.pairs(fields)
	}
	times, err := numbers(fields)
	switch {
	case err != nil:
		return nil, err
	case len(times) == 1:
		return slices.Repeat(times, l.count), nil
	case len(times) != l.count:
		return nil, fmt.Errorf("%s of the control group /%s has %d times for %d pCPUs",
			name, group, len(times), l.count)
	}
	return times, nil
}

// pairs reads times and the pCPUs that have them: "400 0,2 0 1,3".
func (l list) pairs(fields []string) ([]int64, error) {
	times := make([]int64, l.count)
	for pair := range slices.Chunk(fields, 2) {
		time, err := numbers(pair[:1])
		if err != nil {
			return nil, err
		}
		pcpus, err := topology.ParseList(pair[len(pair)-1])
		if err != nil {
			return nil, err
		}
		for _, pcpu := range pcpus {
			if pcpu < l.count {
				times[pcpu] = time[0]
			}
		}
	}
	return times, nil
}

// namePCPUs returns whether every second word names pCPUs. If all words are numbers, each
// names one, and 1 is among them, which is no runtime and no period.
func namePCPUs(fields []string) bool {
	if len(fields)%2 != 0 || len(fields) == 0 {
		return false
	}
	var named []int64
	for pair := range slices.Chunk(fields, 2) {
		number, err := strconv.ParseInt(pair[1], 10, 64)
		if err != nil {
			return true
		}
		named = append(named, number)
	}
	slices.Sort(named)
	for i, number := range named {
		if number != int64(i) {
			return false
		}
	}
	return len(named) > 1
}

// asList writes times by pCPU: "400 0,2 0 1,3".
func asList(times []int64) string {
	var order []int64
	where := map[int64][]string{}
	for pcpu, time := range times {
		if where[time] == nil {
			order = append(order, time)
		}
		where[time] = append(where[time], strconv.Itoa(pcpu))
	}
	parts := make([]string, len(order))
	for i, time := range order {
		parts[i] = fmt.Sprintf("%d %s", time, strings.Join(where[time], ","))
	}
	return strings.Join(parts, " ")
}
