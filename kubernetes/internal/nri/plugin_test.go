// SPDX-License-Identifier: Apache-2.0

package nri

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/containerd/nri/pkg/api"

	"nova-rt/kubernetes/internal/cgroup"
	"nova-rt/kubernetes/internal/claim"
	"nova-rt/kubernetes/internal/fakekernel"
	"nova-rt/kubernetes/internal/node"
	"nova-rt/kubernetes/internal/reservation"
)

// container is one of a pod of the same name, with a claim of the same name.
func container(kernel *fakekernel.Kernel, name, cpus string) *api.Container {
	kernel.Mkdir("kubepods/" + name)
	return &api.Container{Id: name, Name: name, PodSandboxId: name, Env: []string{"NOVA_RT_CLAIM_" + name + "=1/2"},
		State: api.ContainerState_CONTAINER_RUNNING, Linux: &api.LinuxContainer{CgroupsPath: "/kubepods/" + name,
			Resources: &api.LinuxResources{Cpu: &api.LinuxCPU{Cpus: cpus}}}}
}

func TestContainerThatWasGivenOtherCPUsWithoutTheDriverGetsItsOwnAgain(t *testing.T) {
	kernel := fakekernel.New(4, 943_719)
	kernel.Mkdir("kubepods")
	dialect, err := cgroup.Detect(kernel, "kubepods", 4)
	if err != nil {
		t.Fatal(err)
	}
	records := claim.Records{Dir: t.TempDir()}
	var log bytes.Buffer
	plugin := &Plugin{Log: slog.New(slog.NewTextHandler(&log, nil)), Synchronized: func(context.Context) {},
		Node: node.New(node.Config{Pool: "n1", Count: 4, Records: records, Capacity: map[int]int64{1: 943_719,
			3: 943_719}, Hierarchy: cgroup.Hierarchy{Files: kernel, Dialect: dialect, Top: "kubepods"}})}
	var pods []*api.PodSandbox
	var containers []*api.Container
	for name, cpus := range map[string]string{"loose": "", "wide": "0-3", "confined": "1,3", "thief": ""} {
		pods = append(pods, &api.PodSandbox{Id: name, Uid: "pod-" + name})
		containers = append(containers, container(kernel, name, cpus))
		owner := "pod-" + strings.ReplaceAll(name, "thief", "victim")
		if err := records.Write(claim.Reserved{UID: name, Name: name, Pod: owner, PCPUs: []int{1, 3},
			Reservation: reservation.Reservation{Runtime: 20_000, Period: 100_000, VCPUs: 2}}); err != nil {
			t.Fatal(err)
		}
	}
	updates, err := plugin.Synchronize(context.Background(), pods, containers)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, update := range updates {
		got[update.GetContainerId()] = update.GetLinux().GetResources().GetCpu().GetCpus()
	}
	if len(got) != 2 || got["loose"] != "1,3" || got["wide"] != "1,3" {
		t.Error(got)
	}
	if want := "was given other CPUs without the driver"; strings.Count(log.String(), want) != 2 {
		t.Error(log.String())
	}
}
