// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"

	"github.com/containerd/nri/pkg/adaptation"
	"github.com/containerd/nri/pkg/api"
	validator "github.com/containerd/nri/plugins/default-validator/builtin"

	"nova-rt/kubernetes/internal/cgroup"
	"nova-rt/kubernetes/internal/gate"
	"nova-rt/kubernetes/internal/topology"
)

// fakeRuntime is a container runtime without containers: it makes their control groups,
// asks plug-ins by NRI's own library, in the order in which containerd does, and runs the gate.
type fakeRuntime struct {
	node   *fakeNode
	socket string
	nri    *adaptation.Adaptation
	// cut closes the connections of plug-ins: NRI's library leaves that to the end of the
	// process.
	cut func()

	mutex      sync.Mutex
	pods       map[string]*api.PodSandbox
	containers map[string]*api.Container
	serial     int
}

func newRuntime(n *fakeNode) *fakeRuntime {
	r := &fakeRuntime{node: n, socket: filepath.Join(n.dir, "nri.sock"),
		pods: map[string]*api.PodSandbox{}, containers: map[string]*api.Container{}}
	r.start()
	return r
}

func (r *fakeRuntime) start() {
	var err error
	r.nri, err = adaptation.New("fake", "v2.1.0", r.synchronize,
		func(context.Context, []*api.ContainerUpdate) ([]*api.ContainerUpdate, error) { return nil, nil },
		adaptation.WithSocketPath(r.socket+".behind"), adaptation.WithPluginPath(filepath.Join(r.node.dir, "none")),
		adaptation.WithPluginConfigPath(filepath.Join(r.node.dir, "none")),
		adaptation.WithDefaultValidator(&validator.DefaultValidatorConfig{Enable: true}))
	if err != nil {
		r.node.Fatal(err)
	}
	if err := r.nri.Start(); err != nil {
		r.node.Fatal(err)
	}
	if r.cut, err = forward(r.socket, r.socket+".behind"); err != nil {
		r.node.Fatal(err)
	}
}

func (r *fakeRuntime) stop() {
	r.cut()
	r.nri.Stop()
}

// forward connects whoever connects to a socket with another one, until it is cut.
func forward(from, to string) (cut func(), err error) {
	_ = os.Remove(from)
	listener, err := net.Listen("unix", from)
	if err != nil {
		return nil, err
	}
	var mutex sync.Mutex
	open := []io.Closer{listener}
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("unix", to)
			if err != nil {
				_ = near.Close()
				continue
			}
			mutex.Lock()
			open = append(open, near, far)
			mutex.Unlock()
			for _, pair := range [][2]net.Conn{{near, far}, {far, near}} {
				go func() {
					_, _ = io.Copy(pair[0], pair[1])
					_ = pair[0].Close()
				}()
			}
		}
	}()
	return func() {
		mutex.Lock()
		defer mutex.Unlock()
		for _, each := range open {
			_ = each.Close()
		}
	}, nil
}

// synchronize tells a plug-in that has connected what there is.
func (r *fakeRuntime) synchronize(ctx context.Context, tell adaptation.SyncCB) error {
	r.mutex.Lock()
	var pods []*api.PodSandbox
	var containers []*api.Container
	for _, pod := range r.pods {
		pods = append(pods, pod)
	}
	for _, container := range r.containers {
		containers = append(containers, container)
	}
	r.mutex.Unlock()
	_, err := tell(ctx, pods, containers)
	return err
}

// run creates and starts a container of a pod; it returns its id and its CPUs.
func (r *fakeRuntime) run(uid, name string, edits edits, annotations map[string]string) (string, string, error) {
	ctx := context.Background()
	r.mutex.Lock()
	r.serial++
	id := fmt.Sprintf("%s-%d", name, r.serial)
	pod := &api.PodSandbox{Id: "sandbox-" + uid, Uid: uid, Name: name, Namespace: namespace,
		Annotations: annotations}
	group := "kubepods/pod" + uid + "/" + id
	container := &api.Container{Id: id, PodSandboxId: pod.Id, Name: name, Env: edits.Env,
		State: api.ContainerState_CONTAINER_CREATED, Linux: &api.LinuxContainer{CgroupsPath: "/" + group}}
	r.pods[pod.Id] = pod
	r.mutex.Unlock()

	created, err := r.nri.CreateContainer(ctx, &api.CreateContainerRequest{Pod: pod, Container: container})
	if err != nil {
		return "", "", err
	}
	block := r.nri.BlockPluginSync()
	defer block.Unblock()
	r.node.makeGroup(group)
	err = r.nri.StartContainer(ctx, &api.StartContainerRequest{Pod: pod, Container: container})
	if err == nil {
		err = r.runGate(group, edits, created.GetAdjust())
	}
	if err != nil {
		r.node.removeGroup(group)
		_, _ = r.nri.StopContainer(ctx, &api.StopContainerRequest{Pod: pod, Container: container})
		return "", "", err
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	container.State = api.ContainerState_CONTAINER_RUNNING
	r.containers[id] = container
	return id, created.GetAdjust().GetLinux().GetResources().GetCpu().GetCpus(), nil
}

// runGate does what the hooks of a container's claim do in it. Nothing is scheduled here, so
// the policy is as promised.
func (r *fakeRuntime) runGate(group string, edits edits, adjusted *api.ContainerAdjustment) error {
	for _, hook := range edits.Hooks {
		if hook.HookName != "startContainer" || hook.Args[0] != gate.Program {
			return fmt.Errorf("CDI has the hook %v, which is not the gate's", hook)
		}
		promise, err := gate.Parse(hook.Args[1:])
		if err != nil {
			return err
		}
		has := gate.Has{Policy: promise.Policy, Priority: promise.Priority}
		dialect, err := cgroup.Detect(cgroup.Dir(r.node.groupDir("")), group, r.node.pcpus)
		if err != nil {
			return err
		}
		if has.Budget, err = dialect.Read(group); err != nil {
			return err
		}
		if has.PCPUs, err = topology.ParseList(adjusted.GetLinux().GetResources().GetCpu().GetCpus()); err != nil {
			return err
		}
		for _, limit := range adjusted.GetRlimits() {
			if limit.GetType() == "RLIMIT_RTPRIO" {
				has.MaxPriority = limit.GetSoft()
			}
		}
		if err := promise.Check(has); err != nil {
			return err
		}
	}
	return nil
}

// end ends a container and removes it.
func (r *fakeRuntime) end(id string) {
	ctx := context.Background()
	r.mutex.Lock()
	container := r.containers[id]
	delete(r.containers, id)
	r.mutex.Unlock()
	if container == nil {
		return
	}
	pod := r.pods[container.PodSandboxId]
	r.node.removeGroup(filepath.Clean(container.Linux.CgroupsPath)[1:])
	// As containerd does, it goes on where a plug-in has just gone.
	_, _ = r.nri.StopContainer(ctx, &api.StopContainerRequest{Pod: pod, Container: container})
	_ = r.nri.RemoveContainer(ctx, &api.RemoveContainerRequest{Pod: pod, Container: container})
}

// endPod removes the group of a pod, as the kubelet does.
func (r *fakeRuntime) endPod(uid string) { r.node.removeGroup("kubepods/pod" + uid) }
