// SPDX-License-Identifier: Apache-2.0

package cgroup

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// ErrGone is wrapped by the error for a group that no longer exists.
var ErrGone = errors.New("its container has ended")

// What an operator can do about each refusal, as in nova_rt/virt/cgroup/errors.py.
var advice = map[syscall.Errno]string{
	syscall.EINVAL: "the bandwidth is more than the parent group or the global limit " +
		"(kernel.sched_rt_runtime_us) has left: look which other groups hold real-time runtime",
	syscall.EBUSY: "real-time tasks are running in the group: stop them before their " +
		"runtime is taken away",
	syscall.EPERM: "the kernel does not let this process change real-time budgets: " +
		"run the driver as root",
	syscall.EACCES: "the file is not writable: run the driver as root and mount the control " +
		"groups read-write",
	syscall.EROFS:  "the control groups are mounted read-only: mount them read-write",
	syscall.ERANGE: "the number is larger than the kernel takes",
	syscall.ENOMEM: "the kernel has no memory for it: free some",
	syscall.EMFILE: "the driver has too many files open: raise its limit",
}

// EBUSY for a budget that is not 0: SCHED_DEADLINE and the groups share one bandwidth.
const noRoomBeside = "SCHED_DEADLINE tasks and servers have taken the bandwidth: end them, " +
	"or lower the budgets of other groups"

var notZero = regexp.MustCompile(`[1-9]`)

// refusal says what the kernel refused, why, and what to do.
func refusal(group, name, action string, err error) error {
	var number syscall.Errno
	if !errors.As(err, &number) {
		return fmt.Errorf("control group /%s: %w", group, err)
	}
	what, known := advice[number]
	if !known {
		what = "see the kernel log"
	}
	if number == syscall.EBUSY && notZero.MatchString(action) {
		what = noRoomBeside
	}
	return &RefusalError{number, fmt.Sprintf("The kernel refused %s in /%s (%s): %s.",
		strings.TrimSpace(action), join(group, name), unix.ErrnoName(number), what)}
}

// RefusalError is the kernel's answer as one sentence.
type RefusalError struct {
	Errno    syscall.Errno
	Sentence string
}

func (e *RefusalError) Error() string { return e.Sentence }

func (e *RefusalError) Unwrap() error { return e.Errno }

func gone(group string) error {
	return fmt.Errorf("the control group /%s has gone: %w", group, ErrGone)
}

func missingFile(group, name string) error {
	return fmt.Errorf("the control group /%s has no file %s: the kernel has no real-time "+
		"control groups there, or real-time tasks outside kept the cpu controller from being "+
		"turned on; see nova-rt's operator guide", group, name)
}
