// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package fault declares the faults that tests inject into the servers of package fake, chooses the
// fault of a request, and delays requests. Each server applies the rest.
package fault

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/fake/internal/history"
)

// Fault is a fault of one request. Package fake documents its fields.
type Fault struct {
	Delay            time.Duration
	Hold             <-chan struct{}
	Err              error
	ResourceVersion  string
	CloseAfterEvents int
	CloseIn          time.Duration
	Stall            bool
	CutAfterBytes    int
	EditWrite        func(obj runtime.Object) runtime.Object
	EditList         func(list runtime.Object) runtime.Object
	EditEvent        func(event watch.Event) []watch.Event
}

// Wait waits for Delay and Hold. It reports whether they are over before ended or closing is
// closed.
func (f Fault) Wait(ended, closing <-chan struct{}) bool {
	if f.Delay > 0 {
		select {
		case <-time.After(f.Delay):
		case <-ended:
			return false
		case <-closing:
			return false
		}
	}
	if f.Hold != nil {
		select {
		case <-f.Hold:
		case <-ended:
			return false
		case <-closing:
			return false
		}
	}
	return true
}

// Replica returns the replica that answers the request. [Queue.Add] has validated the version.
func (f Fault) Replica() history.Replica {
	version, err := history.ParseVersion(f.ResourceVersion)
	if err != nil {
		return 0
	}
	return history.Replica(version)
}
