// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// As long as a predecessor may take to end that was deleted by force. Who ended at once
	// would be started again only after the kubelet's back-off.
	predecessorEndsWithin = 10 * time.Second
	lookAgain             = 100 * time.Millisecond
)

// lock makes this process the only driver of the node, as long as the file is open: two
// would take back each other's budgets. The kernel unlocks it however the process ends.
func lock(ctx context.Context, dir string, patience time.Duration) (*os.File, error) {
	file, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	until := time.Now().Add(patience)
	for {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return file, nil
		case !errors.Is(err, unix.EWOULDBLOCK):
			return nil, errors.Join(fmt.Errorf("%s cannot be locked: %w", file.Name(), err), file.Close())
		case !time.Now().Before(until):
			return nil, errors.Join(fmt.Errorf("another driver runs on this node and has locked %s: two "+
				"would write the same control groups, so end one of them", file.Name()), file.Close())
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), file.Close())
		case <-time.After(lookAgain):
		}
	}
}
