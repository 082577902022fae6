// SPDX-License-Identifier: Apache-2.0

// Command kubelet is the kubelet, for tests. It is a module of its own: as a part of the
// control plane's, it would be built for those tests, too, that need none.
package main

import (
	"context"
	"os"

	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

func main() {
	os.Exit(cli.Run(kubelet.NewKubeletCommand(context.Background())))
}
