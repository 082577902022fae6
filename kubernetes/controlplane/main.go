// SPDX-License-Identifier: Apache-2.0

// Command controlplane is kube-apiserver, kube-scheduler and, of kube-controller-manager,
// the controllers of ResourceClaims, Deployments and garbage in one program, for tests.
//
// "go install" refuses k8s.io/kubernetes because of the replace lines in its go.mod, so
// this module repeats them. One program takes half the time to link and half the space.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

var servers = map[string]func() *cobra.Command{
	"apiserver":   apiserver.NewAPIServerCommand,
	"scheduler":   func() *cobra.Command { return scheduler.NewSchedulerCommand() },
	"controllers": newControllersCommand,
}

func main() {
	if len(os.Args) < 2 || servers[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "controlplane: say apiserver, scheduler or controllers, then its flags.")
		os.Exit(2)
	}
	command := servers[os.Args[1]]()
	command.SetArgs(os.Args[2:])
	os.Exit(cli.Run(command))
}
