// SPDX-License-Identifier: Apache-2.0

// Package nri is the plug-in of the container runtime: it gives containers what their
// claims reserve before their first instruction.
//
// The runtime calls CreateContainer before it makes anything, and StartContainer when it
// has made the control group and its own process waits there to become the program.
package nri

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/containerd/nri/pkg/api"
	"github.com/containerd/nri/pkg/stub"

	"nova-rt/kubernetes/internal/claim"
	"nova-rt/kubernetes/internal/node"
	"nova-rt/kubernetes/internal/policy"
	"nova-rt/kubernetes/internal/serve"
	"nova-rt/kubernetes/internal/topology"
)

const (
	// Name of the plug-in, as in the runtime's requiredPlugins.
	Name = "nova-rt"
	// Late: after plug-ins that choose CPUs for containers without a claim.
	index = "90"
	// Between attempts to reach a runtime that is down.
	pause = 2 * time.Second
)

// Plugin connects a node to the runtime.
type Plugin struct {
	Node    *node.Node
	Log     *slog.Logger
	Metrics *serve.Metrics
	// Synchronized is called when the runtime has said which containers run.
	Synchronized func(context.Context)
}

// Run serves the runtime until the context ends, and connects again when it restarts.
func (p *Plugin) Run(ctx context.Context, socket string) {
	for ctx.Err() == nil {
		err := p.serve(ctx, socket)
		p.Node.Lost()
		if ctx.Err() == nil {
			p.Log.Warn("the container runtime does not answer", "socket", socket, "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

func (p *Plugin) serve(ctx context.Context, socket string) error {
	lost := make(chan struct{})
	connection, err := stub.New(p, stub.WithPluginName(Name), stub.WithPluginIdx(index),
		stub.WithSocketPath(socket), stub.WithOnClose(sync.OnceFunc(func() { close(lost) })),
		// A container must not start because this process is slow or was killed while it was
		// asked. NRI before 0.12.4 ignores this.
		stub.WithFailurePolicy(&api.FailurePolicy{FailRequest: true}))
	if err != nil {
		return err
	}
	if err := connection.Start(ctx); err != nil {
		return err
	}
	defer connection.Stop()
	select {
	case <-ctx.Done():
		return nil
	case <-lost:
		return fmt.Errorf("it closed the connection")
	}
}

// Synchronize is told all containers after a connection is made.
func (p *Plugin) Synchronize(ctx context.Context, pods []*api.PodSandbox,
	containers []*api.Container) ([]*api.ContainerUpdate, error) {
	byID := map[string]*api.PodSandbox{}
	for _, pod := range pods {
		byID[pod.GetId()] = pod
	}
	var all []node.Container
	for _, found := range containers {
		converted, err := convert(byID[found.GetPodSandboxId()], found)
		if err != nil {
			p.Log.Warn("a container is not understood", "container", found.GetName(), "error", err)
			continue
		}
		all = append(all, converted)
	}
	p.Node.Synchronize(all)
	p.reported(p.Node.Reconcile())
	p.Synchronized(ctx)
	return p.confine(containers)
}

// confine returns what is to be changed of containers whose CPUs somebody has changed while
// this process was down, and could not be asked: the kubelet does with the CPU manager's
// static policy, which gives all containers without CPUs of their own those that are left. It
// tells them once.
func (p *Plugin) confine(containers []*api.Container) ([]*api.ContainerUpdate, error) {
	places, err := p.Node.Places()
	if err != nil {
		return nil, err
	}
	var updates []*api.ContainerUpdate
	for _, found := range containers {
		pcpus, known := places[found.GetId()]
		wanted := topology.FormatList(pcpus)
		if !known || found.GetLinux().GetResources().GetCpu().GetCpus() == wanted {
			continue
		}
		p.Log.Warn("a container was given other CPUs without the driver, and gets those of its claim again",
			"container", found.GetName(), "cpus", found.GetLinux().GetResources().GetCpu().GetCpus())
		update := confinement(found.GetId(), wanted)
		// It may end meanwhile, which must not close the connection.
		update.SetIgnoreFailure()
		updates = append(updates, update)
	}
	return updates, nil
}

func confinement(id, cpus string) *api.ContainerUpdate {
	update := &api.ContainerUpdate{}
	update.SetContainerId(id)
	update.SetLinuxCPUSetCPUs(cpus)
	return update
}

// CreateContainer confines a container with a claim to its pCPUs, and lets its processes
// choose real-time policies: what these may use is bounded by the reservation.
func (p *Plugin) CreateContainer(ctx context.Context, pod *api.PodSandbox,
	created *api.Container) (*api.ContainerAdjustment, []*api.ContainerUpdate, error) {
	converted, err := convert(pod, created)
	if err != nil {
		return nil, nil, err
	}
	reserved, err := p.Node.Admit(ctx, converted)
	if err != nil || reserved == nil {
		return nil, nil, err
	}
	adjustment := &api.ContainerAdjustment{}
	if len(reserved.PCPUs) > 0 {
		adjustment.SetLinuxCPUSetCPUs(topology.FormatList(reserved.PCPUs))
	}
	adjustment.AddRlimit("RLIMIT_RTPRIO", policy.MaxPriority, policy.MaxPriority)
	return adjustment, nil, nil
}

// StartContainer gives the container its reservation.
func (p *Plugin) StartContainer(ctx context.Context, pod *api.PodSandbox, started *api.Container) error {
	converted, err := convert(pod, started)
	if err != nil {
		return err
	}
	done := p.Metrics.Time("start")
	err = p.Node.Start(ctx, converted)
	done(err)
	return err
}

// UpdateContainer keeps a container on its pCPUs when the kubelet changes its resources.
func (p *Plugin) UpdateContainer(ctx context.Context, pod *api.PodSandbox, updated *api.Container,
	_ *api.LinuxResources) ([]*api.ContainerUpdate, error) {
	converted, err := convert(pod, updated)
	if err != nil {
		return nil, err
	}
	reserved, err := p.Node.Admit(ctx, converted)
	if err != nil || reserved == nil || len(reserved.PCPUs) == 0 {
		return nil, err
	}
	return []*api.ContainerUpdate{confinement(updated.GetId(), topology.FormatList(reserved.PCPUs))}, nil
}

// StopContainer takes back what the container had.
func (p *Plugin) StopContainer(context.Context, *api.PodSandbox, *api.Container) ([]*api.ContainerUpdate, error) {
	p.reported(p.Node.Stopped())
	return nil, nil
}

// RemoveContainer takes back what the container had.
func (p *Plugin) RemoveContainer(_ context.Context, _ *api.PodSandbox, removed *api.Container) error {
	p.reported(p.Node.Removed(removed.GetId()))
	return nil
}

// reported logs what the kernel does not take yet: a container ends anyhow, and Reconcile
// tries again.
func (p *Plugin) reported(err error) {
	if err != nil {
		p.Log.Warn("the kernel does not hold what it should yet", "error", err)
	}
}

func convert(pod *api.PodSandbox, found *api.Container) (node.Container, error) {
	converted := node.Container{
		ID: found.GetId(), Name: found.GetName(), Pod: pod.GetUid(), Env: found.GetEnv(),
		Running: found.GetState() == api.ContainerState_CONTAINER_RUNNING ||
			found.GetState() == api.ContainerState_CONTAINER_PAUSED,
	}
	if len(claim.ClaimsOf(converted.Env)) == 0 {
		// Not the driver's business, wherever its runtime puts it.
		return converted, nil
	}
	var err error
	converted.Group, err = groupOf(found.GetLinux().GetCgroupsPath())
	return converted, err
}
