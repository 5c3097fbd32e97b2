// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package measure measures what informers of a collection cost. Each runs in a child process, which
// reads the collection from a server on the loopback interface in this process. The child process
// has no credentials but the token of that server, and no environment.
package measure

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"

	"github.com/kinformer/kinformer/cmd/kinformer/internal/collection"
	"github.com/kinformer/kinformer/internal/testing/loopback"
	"github.com/kinformer/kinformer/internal/testing/process"
)

// ChildArg is the first and only argument of a child process. The program must then call Child.
const ChildArg = "measure-in-child-process"

// Result is what an informer of a collection costs.
type Result struct {
	Variant Variant `json:"variant"`
	Objects int     `json:"objects"`
	// HeapBytes is the memory in use after the sync and garbage collection, above that before.
	HeapBytes int64 `json:"heapBytes"`
	// PeakRSSBytes is the most resident memory until synced, above that of the process before. It
	// is zero where the operating system does not say.
	PeakRSSBytes int64 `json:"peakRSSBytes"`
	// CPU is the processor time, in user and system mode, until synced.
	CPU time.Duration `json:"cpu"`
	// Duration is the time until synced.
	Duration time.Duration `json:"duration"`
}

// job is the input of a child process.
type job struct {
	Variant  Variant
	Resource schema.GroupVersionResource
	Kind     string
	URL      string
	Token    string
	Limit    time.Duration
}

// errTimeLimit is the cause of a child process's end after its time limit.
var errTimeLimit = errors.New("not synced within the time limit")

// timeLimit returns how long a child process may take: far more than it needs.
func timeLimit(itemBytes int64) time.Duration {
	return 2*time.Minute + time.Duration(itemBytes/1e6)*time.Second
}

// Run measures a variant with a collection. A child process that takes more than maxMemory bytes is
// killed; zero means no bound. An error names the variant and the resource.
func Run(ctx context.Context, c *collection.Collection, v Variant, maxMemory int64) (Result, error) {
	result, err := run(ctx, c, v, timeLimit(c.ItemBytes()), maxMemory)
	if err == nil && result.Objects != len(c.Items) {
		err = fmt.Errorf("%d objects in the informer, want %d", result.Objects, len(c.Items))
	}
	if err != nil {
		return Result{}, fmt.Errorf("measure %s of %s: %w", v, c.Resource.GroupResource(), err)
	}
	return result, nil
}

func run(ctx context.Context, c *collection.Collection, v Variant, limit time.Duration, maxMemory int64) (result Result, err error) {
	if err := v.check(); err != nil {
		return result, err
	}
	token := rand.Text()
	server, err := loopback.Start(newHandler(c, token))
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errTimeLimit)
	defer cancel()
	child := process.Child{
		Args: []string{ChildArg}, Env: v.environment(), MaxMemory: maxMemory,
		Input: job{Variant: v, Resource: c.Resource, Kind: c.Kind, URL: server.URL(), Token: token, Limit: limit},
	}
	return result, child.Run(ctx, &result)
}

// Child is the main function of a child process. It ends the process if the parent process ends.
func Child(in io.Reader, out io.Writer) error {
	klog.SetLogger(logr.Discard()) // the informers' log may name objects
	var j job
	if err := process.ReadInput(in, &j); err != nil {
		return err
	}
	result, err := j.measure(context.Background())
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(result)
}

// measure runs the informer until it has synced.
func (j job) measure(ctx context.Context) (Result, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, j.Limit, errTimeLimit)
	defer cancel()
	informer, err := j.Variant.informer(j.URL, j.Token, j.Resource, j.Kind)
	if err != nil {
		return Result{}, err
	}
	cost, err := informer.Sync(ctx)
	if err != nil {
		return Result{}, err
	}
	cost.MeasureHeap()
	informer.Stop()
	return Result{
		Variant:      j.Variant,
		Objects:      cost.Objects,
		HeapBytes:    int64(cost.Heap),
		PeakRSSBytes: int64(cost.PeakRSS - cost.IdleRSS),
		CPU:          seconds(cost.CPU),
		Duration:     seconds(cost.Time),
	}, nil
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
