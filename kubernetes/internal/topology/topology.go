// SPDX-License-Identifier: Apache-2.0

// Package topology says which pCPUs a node has, and where they are.
package topology

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// PCPU is one of a node.
type PCPU struct {
	Index int
	// NUMANode is 0 where the kernel does not say.
	NUMANode int
}

// Read returns the pCPUs that are online.
//
// sysfs is where that is mounted, so that a test can show any topology.
func Read(sysfs string) ([]PCPU, error) {
	text, err := os.ReadFile(filepath.Join(sysfs, "devices/system/cpu/online"))
	if err != nil {
		return nil, fmt.Errorf("the pCPUs of the node cannot be read: %w", err)
	}
	online, err := ParseList(strings.TrimSpace(string(text)))
	if err != nil {
		return nil, err
	}
	nodes := numaNodes(sysfs)
	pcpus := make([]PCPU, len(online))
	for i, index := range online {
		pcpus[i] = PCPU{index, nodes[index]}
	}
	return pcpus, nil
}

// Possible returns how many pCPUs the kernel has room for in its control files.
func Possible(sysfs string) (int, error) {
	text, err := os.ReadFile(filepath.Join(sysfs, "devices/system/cpu/possible"))
	if err != nil {
		return 0, fmt.Errorf("the pCPUs of the node cannot be read: %w", err)
	}
	possible, err := ParseList(strings.TrimSpace(string(text)))
	if err != nil || len(possible) == 0 {
		return 0, fmt.Errorf("the kernel says %q for its pCPUs", text)
	}
	return slices.Max(possible) + 1, nil
}

func numaNodes(sysfs string) map[int]int {
	nodes := map[int]int{}
	lists, _ := filepath.Glob(filepath.Join(sysfs, "devices/system/node/node[0-9]*/cpulist"))
	for _, path := range lists {
		node, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(filepath.Dir(path)), "node"))
		if err != nil {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		pcpus, _ := ParseList(strings.TrimSpace(string(text)))
		for _, pcpu := range pcpus {
			nodes[pcpu] = node
		}
	}
	return nodes
}

// ParseList reads a list of pCPUs as the kernel writes it: "0-2,5"; ascending, each once.
func ParseList(text string) ([]int, error) {
	var pcpus []int
	if text == "" {
		return nil, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		from, err := strconv.ParseUint(first, 10, 16)
		if err != nil {
			return nil, fmt.Errorf("%q is no list of pCPUs: give one such as 0-2,5", text)
		}
		to, err := strconv.ParseUint(last, 10, 16)
		if err != nil || to < from {
			return nil, fmt.Errorf("%q is no list of pCPUs: give one such as 0-2,5", text)
		}
		for pcpu := from; pcpu <= to; pcpu++ {
			pcpus = append(pcpus, int(pcpu))
		}
	}
	slices.Sort(pcpus)
	return slices.Compact(pcpus), nil
}

// FormatList writes pCPUs as the kernel reads them, without ranges.
func FormatList(pcpus []int) string {
	words := make([]string, len(pcpus))
	for i, pcpu := range pcpus {
		words[i] = strconv.Itoa(pcpu)
	}
	return strings.Join(words, ",")
}
