// SPDX-License-Identifier: Apache-2.0

// Command nova-rt-gate ends with an error in a container that has not got what its claim
// reserves. It is small, as it runs on the container's budget.
package main

import (
	"fmt"
	"os"

	"nova-rt/kubernetes/internal/gate"
)

// lastWords is the default of a container's terminationMessagePath.
const lastWords = "/dev/termination-log"

func main() {
	if err := check(); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", gate.Program, err)
		tell(err)
		os.Exit(1)
	}
}

// tell puts the reason where the kubelet looks for a container's last words. The OCI runtime
// keeps it to itself: it has said by now that the container was started.
func tell(reason error) {
	file, err := os.OpenFile(lastWords, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return // The pod has them elsewhere, or nowhere.
	}
	_, _ = fmt.Fprintf(file, "%v\n", reason)
	_ = file.Close()
}

func check() error {
	promise, err := gate.Parse(os.Args[1:])
	if err != nil {
		return err
	}
	has, err := gate.Self()
	if err != nil {
		return err
	}
	return promise.Check(has)
}
