// SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"

	"nova-rt/kubernetes/internal/bandwidth"
	"nova-rt/kubernetes/internal/cgroup"
	"nova-rt/kubernetes/internal/dra"
	"nova-rt/kubernetes/internal/node"
	"nova-rt/kubernetes/internal/placement"
	"nova-rt/kubernetes/internal/topology"
)

type options struct {
	nodeName, kubeconfig, kubeletDir, cdiDir, nriSocket, address string
	cgroups, proc, sysfs, top                                    string
	pcpus, policy                                                string
	cap                                                          float64
}

func parse(arguments []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("nova-rt-dra", flag.ContinueOnError)
	flags.StringVar(&o.nodeName, "node-name", os.Getenv("NODE_NAME"), "name of this node")
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "how to reach the API server; empty in a pod")
	flags.StringVar(&o.kubeletDir, "kubelet-dir", "/var/lib/kubelet", "data directory of the kubelet")
	flags.StringVar(&o.cdiDir, "cdi-dir", "/var/run/cdi", "directory that the runtime reads CDI files from; "+
		"reboots must empty it")
	flags.StringVar(&o.nriSocket, "nri-socket", "/var/run/nri/nri.sock", "socket of the runtime for NRI")
	flags.StringVar(&o.address, "address", "127.0.0.1:8089", "address of /healthz and /metrics")
	flags.StringVar(&o.cgroups, "cgroups", "/sys/fs/cgroup", "where control groups version 2 are mounted")
	flags.StringVar(&o.proc, "proc", "/proc", "where procfs is mounted")
	flags.StringVar(&o.sysfs, "sysfs", "/sys", "where sysfs is mounted")
	flags.StringVar(&o.top, "top", "", "group that the kubelet puts pods below; empty: kubepods.slice or kubepods")
	flags.StringVar(&o.pcpus, "pcpus", "", "pCPUs that may hold reservations, such as 2-7; empty: all")
	flags.StringVar(&o.policy, "placement-policy", placement.Default, "one of "+strings.Join(placement.Names(), ", "))
	flags.Float64Var(&o.cap, "cap", 0.95, "largest part of a pCPU that can be reserved")
	if err := flags.Parse(arguments); err != nil {
		return o, err
	}
	return o, o.check()
}

func (o options) check() error {
	switch {
	case o.nodeName == "":
		return fmt.Errorf("the node has no name: give --node-name or NODE_NAME")
	case !(o.cap > 0 && o.cap <= 1):
		return fmt.Errorf("--cap is %v: give a part of a pCPU above 0 and up to 1, such as 0.95", o.cap)
	case !slices.Contains(placement.Names(), o.policy):
		return fmt.Errorf("--placement-policy is %q: give one of %s", o.policy,
			strings.Join(placement.Names(), ", "))
	}
	return nil
}

// machine is what this node has.
type machine struct {
	config  node.Config
	devices dra.Devices
}

// examine looks at the kernel of this node.
func examine(o options) (machine, error) {
	pcpus, err := topology.Read(o.sysfs)
	if err != nil {
		return machine{}, err
	}
	count, err := topology.Possible(o.sysfs)
	if err != nil {
		return machine{}, err
	}
	hierarchy, err := openHierarchy(o, count)
	if err != nil {
		return machine{}, err
	}
	held, err := hierarchy.Dialect.Read(hierarchy.Top)
	if err != nil {
		return machine{}, err
	}
	capacity, err := capacities(o, pcpus, hierarchy.Dialect, len(held.Runtimes))
	if err != nil {
		return machine{}, err
	}
	return machine{
		node.Config{Pool: o.nodeName, Capacity: capacity, Count: len(held.Runtimes), Hierarchy: hierarchy,
			Threads: node.KernelThreads{Files: hierarchy.Files}},
		dra.Devices{PCPUs: pcpus, Capacity: capacity, Policy: o.policy, Every: hierarchy.Dialect.Every()},
	}, nil
}

func openHierarchy(o options, count int) (cgroup.Hierarchy, error) {
	files := cgroup.Dir(o.cgroups)
	top := o.top
	if top == "" {
		top = "kubepods.slice"
		if files.Has("kubepods", "") {
			top = "kubepods"
		}
	}
	dialect, err := cgroup.Detect(files, top, count)
	if err != nil {
		return cgroup.Hierarchy{}, err
	}
	return cgroup.Hierarchy{Files: files, Dialect: dialect, Top: top}, nil
}

// capacities returns by pCPU the smaller of the cap and what the kernel admits.
func capacities(o options, online []topology.PCPU, dialect cgroup.Dialect, count int) (map[int]int64, error) {
	admitted, err := cgroup.Limits{Proc: o.proc, Sysfs: o.sysfs}.Admitted(dialect)
	if err != nil {
		return nil, err
	}
	wanted, err := topology.ParseList(o.pcpus)
	if err != nil {
		return nil, fmt.Errorf("--pcpus: %w", err)
	}
	capacity := map[int]int64{}
	for _, pcpu := range online {
		if pcpu.Index < count && (o.pcpus == "" || slices.Contains(wanted, pcpu.Index)) {
			capacity[pcpu.Index] = min(admitted, bandwidth.OfFraction(o.cap))
		}
	}
	if len(capacity) == 0 {
		return nil, fmt.Errorf("--pcpus is %q, but none of these is online", o.pcpus)
	}
	return capacity, nil
}
