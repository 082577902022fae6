// SPDX-License-Identifier: Apache-2.0

package cgroup

import (
	"strconv"
	"strings"
)

// multi is hcbs-multi, our kernel's dialect: a runtime for each pCPU, 0 allowed. A new
// group says -1 for every pCPU: it has no budget, and runs within the nearest group above
// that has one.
type multi struct{ files Files }

func (multi) Name() string { return "hcbs-multi" }

func (multi) Every() bool { return false }

func (m multi) Bounded(group string) (bool, error) {
	text, err := readLine(m.files, group, multiRuntime)
	return !strings.HasPrefix(text, "-"), err
}

func (m multi) Read(group string) (Budget, error) {
	text, err := readLine(m.files, group, multiRuntime)
	if err != nil {
		return Budget{}, err
	}
	runtimes, err := numbers(strings.Fields(text))
	if err != nil {
		return Budget{}, err
	}
	text, err = readLine(m.files, group, periodFile)
	if err != nil {
		return Budget{}, err
	}
	period, err := numbers([]string{text})
	if err != nil {
		return Budget{}, err
	}
	return notEmpty(group, Budget{period[0], runtimes})
}

func (m multi) Write(group string, wanted Budget) error {
	held, err := m.Read(group)
	if err != nil {
		return err
	}
	return writeTimes(held, wanted, func(runtimes []int64) error {
		return m.files.Write(group, multiRuntime, words(runtimes))
	}, func(period int64) error {
		return m.files.Write(group, periodFile, strconv.FormatInt(period, 10))
	})
}

func (multi) Pool() (int64, bool, error) { return 0, false, nil }

func words(times []int64) string {
	out := make([]string, len(times))
	for i, time := range times {
		out[i] = strconv.FormatInt(time, 10)
	}
	return strings.Join(out, " ")
}
