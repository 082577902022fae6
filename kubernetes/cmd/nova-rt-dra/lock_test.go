// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"strings"
	"testing"
	"time"
)

func TestSecondDriverOfANodeEndsWithASentence(t *testing.T) {
	dir := t.TempDir()
	first, err := lock(context.Background(), dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = lock(context.Background(), dir, 0)
	if err == nil || !strings.Contains(err.Error(), "another driver runs on this node") {
		t.Error(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := lock(context.Background(), dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	_ = again.Close()
}

func TestDriverWaitsForItsPredecessorToEnd(t *testing.T) {
	dir := t.TempDir()
	first, err := lock(context.Background(), dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan error)
	go func() {
		_, err := lock(context.Background(), dir, time.Hour)
		got <- err
	}()
	_ = first.Close()
	if err := <-got; err != nil {
		t.Error(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	stop()
	if _, err := lock(ctx, dir, time.Hour); err == nil {
		t.Error("it waits though it is to end")
	}
}
