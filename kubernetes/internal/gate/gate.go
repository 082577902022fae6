// SPDX-License-Identifier: Apache-2.0

// Package gate keeps a container from running without what its claim reserves.
//
// The runtime asks the driver when it creates and starts a container, and goes on without
// the driver where that is down or was killed meanwhile. So the OCI runtime itself runs the
// gate, as a startContainer hook of the claim's CDI device: in the container, with its
// budget, policy and CPUs, right before the program. If it fails, the program does not run.
package gate

import (
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"nova-rt/kubernetes/internal/cgroup"
	"nova-rt/kubernetes/internal/policy"
	"nova-rt/kubernetes/internal/topology"
)

const (
	// Program is the gate's file, which is beside the driver's.
	Program = "nova-rt-gate"
	// Path is where CDI puts it into containers: in memory, unless a pod mounts the node's /dev,
	// which then has an empty file of that name.
	Path = "/dev/" + Program
)

// Promise is what a container must have.
type Promise struct {
	// Runtime every period, in µs, on each of the pCPUs.
	Runtime, Period int64
	// PCPUs are ascending; none where the reservation occupies every pCPU.
	PCPUs []int
	// Policy of its first thread is fifo or rr, or empty: then the container may choose.
	Policy   string
	Priority int64
}

// Arguments returns those of the program.
func (p Promise) Arguments() []string {
	arguments := []string{fmt.Sprint("--runtime=", p.Runtime), fmt.Sprint("--period=", p.Period),
		"--pcpus=" + topology.FormatList(p.PCPUs)}
	if p.Policy != "" {
		arguments = append(arguments, "--policy="+p.Policy, fmt.Sprint("--priority=", p.Priority))
	}
	return arguments
}

// Parse reads them.
func Parse(arguments []string) (Promise, error) {
	var p Promise
	flags := flag.NewFlagSet(Program, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.Int64Var(&p.Runtime, "runtime", 0, "")
	flags.Int64Var(&p.Period, "period", 0, "")
	flags.StringVar(&p.Policy, "policy", "", "")
	flags.Int64Var(&p.Priority, "priority", 0, "")
	pcpus := flags.String("pcpus", "", "")
	err := flags.Parse(arguments)
	if err == nil {
		p.PCPUs, err = topology.ParseList(*pcpus)
	}
	return p, err
}

// Has is what a container has.
type Has struct {
	Budget cgroup.Budget
	// PCPUs that it may run on, ascending.
	PCPUs    []int
	Policy   string
	Priority int64
	// MaxPriority is the highest that it may choose itself.
	MaxPriority uint64
}

// Check returns what of the promise a container lacks, in one sentence.
func (p Promise) Check(has Has) error {
	var lacks string
	switch {
	case !p.hasBudget(has.Budget):
		lacks = fmt.Sprintf("%d µs every %d µs", p.Runtime, p.Period)
	case len(p.PCPUs) > 0 && !slices.Equal(p.PCPUs, has.PCPUs):
		lacks = "the pCPUs " + topology.FormatList(p.PCPUs)
	case p.Policy != "" && (p.Policy != has.Policy || p.Priority != has.Priority):
		lacks = fmt.Sprintf("SCHED_%s %d", strings.ToUpper(p.Policy), p.Priority)
	case has.MaxPriority < policy.MaxPriority:
		lacks = fmt.Sprintf("RLIMIT_RTPRIO %d", policy.MaxPriority)
	default:
		return nil
	}
	return fmt.Errorf("the container has not got %s of its claim, so its program was not run: see what "+
		"the driver nova-rt-dra of this node says, if it runs", lacks)
}

// hasBudget returns whether a budget is the promised one on the pCPUs, and nothing elsewhere.
func (p Promise) hasBudget(budget cgroup.Budget) bool {
	count := len(budget.Runtimes)
	for _, pcpu := range p.PCPUs {
		if pcpu >= count {
			return false
		}
	}
	return count > 0 && budget.Equal(cgroup.OnPCPUs(p.Runtime, p.Period, p.PCPUs, count))
}
