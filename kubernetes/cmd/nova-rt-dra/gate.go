// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"nova-rt/kubernetes/internal/gate"
)

// installGate copies the gate, which is beside this program, to where the node's runtime
// finds it: this program may be in a container.
func installGate(target string) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	source := filepath.Join(filepath.Dir(program), gate.Program)
	text, err := os.ReadFile(source)
	if err != nil {
		return fmt.Errorf("%s cannot be read, install it beside nova-rt-dra: %w", gate.Program, err)
	}
	// Containers go on with the file that they were started with.
	half := target + ".new"
	err = errors.Join(os.WriteFile(half, text, 0o755), os.Chmod(half, 0o755))
	if err == nil {
		err = os.Rename(half, target)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("the gate cannot be installed: %w", err), os.Remove(half))
	}
	return nil
}
