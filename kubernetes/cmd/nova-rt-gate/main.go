// SPDX-License-Identifier: Apache-2.0

// Command nova-rt-gate ends with an error in a container that has not got what its claim
// reserves. It is small, as it runs on the container's budget.
package main

import (
	"fmt"
	"os"

	"nova-rt/kubernetes/internal/gate"
)

func main() {
	if err := check(); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", gate.Program, err)
		os.Exit(1)
	}
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
