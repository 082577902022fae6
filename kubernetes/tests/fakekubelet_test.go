// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	drapb "k8s.io/kubelet/pkg/apis/dra/v1"
	registerapi "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
	"k8s.io/utils/ptr"
)

// fakeKubelet is the part of a kubelet that knows drivers: it has them prepare the claims
// of the pods that are bound to its node, and has the runtime run these.
type fakeKubelet struct {
	node   *fakeNode
	cancel context.CancelFunc
	done   sync.WaitGroup

	mutex    sync.Mutex
	pods     map[string]*runningPod
	problems map[string]string
	// cpus are by pod what its container was confined to.
	cpus map[string]string
	// times are by pod how long its claims and its container took.
	times map[string]times
}

type times struct{ prepare, start time.Duration }

type runningPod struct {
	container string
	claims    []*drapb.Claim
}

func newKubelet(n *fakeNode) *fakeKubelet {
	k := &fakeKubelet{node: n, problems: map[string]string{}, cpus: map[string]string{},
		times: map[string]times{}}
	k.start()
	return k
}

// start begins without a memory, as after a restart.
func (k *fakeKubelet) start() {
	ctx, cancel := context.WithCancel(context.Background())
	k.cancel = cancel
	if k.pods == nil {
		k.pods = map[string]*runningPod{}
	}
	k.done.Go(func() {
		for ctx.Err() == nil {
			k.synchronize(ctx)
			time.Sleep(50 * time.Millisecond)
		}
	})
}

func (k *fakeKubelet) stop() {
	k.cancel()
	k.done.Wait()
}

// problem says why a pod does not run.
func (k *fakeKubelet) problem(name string) string {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	return k.problems[name]
}

// timesOf says how long a pod that runs took.
func (k *fakeKubelet) timesOf(name string) times {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	return k.times[name]
}

func (k *fakeKubelet) synchronize(ctx context.Context) {
	all, err := cluster.client.CoreV1().Pods(namespace).List(ctx,
		metav1.ListOptions{FieldSelector: "spec.nodeName=" + k.node.name})
	if err != nil {
		return
	}
	for _, pod := range all.Items {
		if pod.DeletionTimestamp != nil {
			err = k.end(ctx, &pod)
		} else {
			err = k.run(ctx, &pod)
		}
		k.mutex.Lock()
		k.problems[pod.Name] = fmt.Sprint(err)
		k.mutex.Unlock()
	}
}

func (k *fakeKubelet) run(ctx context.Context, pod *corev1.Pod) error {
	if known := k.pods[string(pod.UID)]; known != nil && known.container != "" {
		return nil
	}
	claims, err := claimsOf(ctx, pod)
	if err != nil {
		return err
	}
	// Remembered before it is prepared, as by the kubelet's checkpoint.
	started := &runningPod{claims: claims}
	k.pods[string(pod.UID)] = started
	began := time.Now()
	devices, err := k.prepare(ctx, claims)
	if err != nil {
		return err
	}
	took := times{prepare: time.Since(began)}
	edits, err := k.node.edits(devices)
	if err != nil {
		return err
	}
	began = time.Now()
	id, cpus, err := k.node.runtime.run(string(pod.UID), pod.Name, edits, pod.Annotations)
	if err != nil {
		return err
	}
	took.start = time.Since(began)
	started.container = id
	k.mutex.Lock()
	k.cpus[pod.Name], k.times[pod.Name] = cpus, took
	k.mutex.Unlock()
	pod.Status.Phase = corev1.PodRunning
	pod.Status.Conditions = append(pod.Status.Conditions,
		corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()})
	_, err = cluster.client.CoreV1().Pods(namespace).UpdateStatus(ctx, pod, metav1.UpdateOptions{})
	return err
}

func (k *fakeKubelet) end(ctx context.Context, pod *corev1.Pod) error {
	if running := k.pods[string(pod.UID)]; running != nil {
		k.node.runtime.end(running.container)
		k.node.runtime.endPod(string(pod.UID))
		if err := k.unprepare(ctx, running.claims); err != nil {
			return err
		}
		delete(k.pods, string(pod.UID))
	}
	return cluster.client.CoreV1().Pods(namespace).Delete(ctx, pod.Name,
		metav1.DeleteOptions{GracePeriodSeconds: ptr.To(int64(0))})
}

// prepare returns the CDI devices of claims.
func (k *fakeKubelet) prepare(ctx context.Context, claims []*drapb.Claim) ([]string, error) {
	var devices []string
	err := k.call(ctx, func(driver drapb.DRAPluginClient) error {
		answer, err := driver.NodePrepareResources(ctx, &drapb.NodePrepareResourcesRequest{Claims: claims})
		if err != nil {
			return err
		}
		for _, claim := range claims {
			prepared := answer.Claims[claim.Uid]
			if prepared.GetError() != "" || prepared == nil {
				return fmt.Errorf("the driver does not prepare %s: %s", claim.Name, prepared.GetError())
			}
			// A device of each vCPU, and the same CDI device for all of them.
			devices = append(devices, prepared.Devices[0].CdiDeviceIds...)
		}
		return nil
	})
	return devices, err
}

func (k *fakeKubelet) unprepare(ctx context.Context, claims []*drapb.Claim) error {
	return k.call(ctx, func(driver drapb.DRAPluginClient) error {
		answer, err := driver.NodeUnprepareResources(ctx, &drapb.NodeUnprepareResourcesRequest{Claims: claims})
		if err != nil {
			return err
		}
		for _, claim := range claims {
			if done := answer.Claims[claim.Uid]; done == nil || done.Error != "" {
				return fmt.Errorf("the driver does not unprepare %s: %s", claim.Name, done.GetError())
			}
		}
		return nil
	})
}

// call asks the driver where it is registered, as the kubelet finds out.
func (k *fakeKubelet) call(ctx context.Context, ask func(drapb.DRAPluginClient) error) error {
	registration, err := dial(filepath.Join(k.node.dir, "kubelet/plugins_registry/nova-rt.cpu-reg.sock"))
	if err != nil {
		return err
	}
	defer func() { _ = registration.Close() }()
	registrar := registerapi.NewRegistrationClient(registration)
	info, err := registrar.GetInfo(ctx, &registerapi.InfoRequest{})
	if err != nil {
		return err
	}
	if info.Type != registerapi.DRAPlugin || info.Name != "nova-rt.cpu" {
		return fmt.Errorf("%s of the type %s is not the driver", info.Name, info.Type)
	}
	if _, err := registrar.NotifyRegistrationStatus(ctx,
		&registerapi.RegistrationStatus{PluginRegistered: true}); err != nil {
		return err
	}
	connection, err := dial(info.Endpoint)
	if err != nil {
		return err
	}
	defer func() { _ = connection.Close() }()
	return ask(drapb.NewDRAPluginClient(connection))
}

func dial(socket string) (*grpc.ClientConn, error) {
	return grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
}

// claimsOf returns the claims of a pod, by name or made of templates.
func claimsOf(ctx context.Context, pod *corev1.Pod) ([]*drapb.Claim, error) {
	names := map[string]string{}
	for _, status := range pod.Status.ResourceClaimStatuses {
		names[status.Name] = ptr.Deref(status.ResourceClaimName, "")
	}
	var claims []*drapb.Claim
	for _, wanted := range pod.Spec.ResourceClaims {
		name := ptr.Deref(wanted.ResourceClaimName, names[wanted.Name])
		claim, err := cluster.client.ResourceV1().ResourceClaims(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		claims = append(claims, &drapb.Claim{Namespace: namespace, Name: name, Uid: string(claim.UID)})
	}
	return claims, nil
}
