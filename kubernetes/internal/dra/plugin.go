// SPDX-License-Identifier: Apache-2.0

// Package dra is the plug-in of the kubelet: it publishes a node's devices and prepares
// claims.
package dra

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"

	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/dynamic-resource-allocation/kubeletplugin"
	"k8s.io/dynamic-resource-allocation/resourceslice"

	"nova-rt/kubernetes/internal/claim"
	"nova-rt/kubernetes/internal/node"
	"nova-rt/kubernetes/internal/serve"
)

// Plugin implements kubeletplugin.DRAPlugin for a node.
type Plugin struct {
	Node    *node.Node
	Devices Devices
	Log     *slog.Logger
	Metrics *serve.Metrics
	// Fatal is called with an error that does not go away by itself.
	Fatal func(error)

	// Unset until Start returns, while the kubelet may call already.
	helper atomic.Pointer[kubeletplugin.Helper]
}

// Start serves the kubelet until the context ends. Nothing is published yet.
func (p *Plugin) Start(ctx context.Context, client kubernetes.Interface, nodeName, pluginDir,
	registryDir string) (*kubeletplugin.Helper, error) {
	helper, err := kubeletplugin.Start(ctx, p,
		kubeletplugin.DriverName(claim.Driver),
		kubeletplugin.NodeName(nodeName),
		kubeletplugin.KubeClient(client),
		kubeletplugin.PluginDataDirectoryPath(pluginDir),
		kubeletplugin.RegistrarDirectoryPath(registryDir),
		kubeletplugin.HealthService(false),
	)
	p.helper.Store(helper)
	return helper, err
}

// publish writes the devices in the order of the placement policy.
func (p *Plugin) publish(ctx context.Context) error {
	helper := p.helper.Load()
	if helper == nil {
		return nil
	}
	left, err := p.Node.Left()
	if err != nil {
		return err
	}
	p.Metrics.SetLeft(left)
	return helper.PublishResources(ctx, resourceslice.DriverResources{
		Pools: map[string]resourceslice.Pool{p.Node.Pool: p.Devices.Pool(left)},
	})
}

// PrepareResourceClaims implements kubeletplugin.DRAPlugin.
func (p *Plugin) PrepareResourceClaims(ctx context.Context, claims []*resourceapi.ResourceClaim) (
	map[types.UID]kubeletplugin.PrepareResult, error) {
	results := map[types.UID]kubeletplugin.PrepareResult{}
	for _, allocated := range claims {
		done := p.Metrics.Time("prepare")
		reserved, err := p.Node.Prepare(allocated)
		done(err)
		if err != nil {
			p.Log.Warn("a claim is not prepared", "claim", reserved.String(), "error", err)
			results[allocated.UID] = kubeletplugin.PrepareResult{Err: err}
			continue
		}
		results[allocated.UID] = kubeletplugin.PrepareResult{Devices: devicesOf(reserved, allocated)}
	}
	p.Republish(ctx)
	return results, nil
}

// UnprepareResourceClaims implements kubeletplugin.DRAPlugin.
func (p *Plugin) UnprepareResourceClaims(ctx context.Context, claims []kubeletplugin.NamespacedObject) (
	map[types.UID]error, error) {
	results := map[types.UID]error{}
	for _, gone := range claims {
		done := p.Metrics.Time("unprepare")
		err := p.Node.Unprepare(string(gone.UID))
		done(err)
		results[gone.UID] = err
	}
	p.Republish(ctx)
	return results, nil
}

// HandleError implements kubeletplugin.DRAPlugin.
func (p *Plugin) HandleError(_ context.Context, err error, msg string) {
	p.Log.Error(msg, "error", err)
	if !errors.Is(err, kubeletplugin.ErrRecoverable) {
		p.Fatal(err)
	}
}

// WatchHealthStatus implements kubeletplugin.DRAPlugin.
func (p *Plugin) WatchHealthStatus(context.Context, chan<- kubeletplugin.DeviceHealthReport) error {
	return kubeletplugin.ErrHealthNotSupported
}

// Republish publishes the devices in their present order. What is prepared is so in any
// case.
func (p *Plugin) Republish(ctx context.Context) {
	if err := p.publish(ctx); err != nil {
		p.Log.Warn("the devices are not published anew", "error", err)
	}
}

func devicesOf(reserved claim.Reserved, allocated *resourceapi.ResourceClaim) []kubeletplugin.Device {
	var devices []kubeletplugin.Device
	for _, result := range allocated.Status.Allocation.Devices.Results {
		if result.Driver != claim.Driver {
			continue
		}
		devices = append(devices, kubeletplugin.Device{
			Requests: []string{result.Request}, PoolName: result.Pool, DeviceName: result.Device,
			ShareID: result.ShareID, CDIDeviceIDs: []string{claim.CDIDevice(reserved.UID)},
		})
	}
	return devices
}

// Claims reads claims from the API server.
type Claims struct{ Client kubernetes.Interface }

// Get implements node.Claims.
func (c Claims) Get(ctx context.Context, namespace, name string) (*resourceapi.ResourceClaim, error) {
	found, err := c.Client.ResourceV1().ResourceClaims(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return found, err
}
