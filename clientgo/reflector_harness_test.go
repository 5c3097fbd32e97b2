// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo_test

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/clientgo"
)

// reflector has the methods of client-go's Reflector.
type reflector interface {
	Name() string
	TypeDescription() string
	LastSyncResourceVersion() string
	Run(stopCh <-chan struct{})
	RunWithContext(ctx context.Context)
	ListAndWatch(stopCh <-chan struct{}) error
	ListAndWatchWithContext(ctx context.Context) error
}

// reflectorFields are the exported fields of client-go's Reflector.
type reflectorFields struct {
	pageSize     int64
	shouldResync func() bool
}

// newReflectorFunc returns a reflector of Pods.
type newReflectorFunc func(clientcache.ListerWatcher, clientcache.ReflectorStore, clientcache.ReflectorOptions, reflectorFields) reflector

func newClientGoReflector(lw clientcache.ListerWatcher, store clientcache.ReflectorStore, options clientcache.ReflectorOptions, fields reflectorFields) reflector {
	r := clientcache.NewReflectorWithOptions(lw, &corev1.Pod{}, store, options)
	r.WatchListPageSize, r.ShouldResync = fields.pageSize, fields.shouldResync
	return r
}

func newReflector(lw clientcache.ListerWatcher, store clientcache.ReflectorStore, options clientcache.ReflectorOptions, fields reflectorFields) reflector {
	r := clientgo.With(clientgo.Options{}).NewReflectorWithOptions(lw, &corev1.Pod{}, store, options)
	r.WatchListPageSize, r.ShouldResync = fields.pageSize, fields.shouldResync
	return r
}

// forEachReflector runs a test in a bubble with client-go's Reflector and with this package's.
func forEachReflector(t *testing.T, test func(t *testing.T, newReflector newReflectorFunc)) {
	t.Helper()
	// The second of these handlers limits the rate of errors, by a sleep until the time outside the
	// bubble.
	defer func(handlers []utilruntime.ErrorHandler) { utilruntime.ErrorHandlers = handlers }(utilruntime.ErrorHandlers) //nolint:reassign // client-go has no other way
	utilruntime.ErrorHandlers = utilruntime.ErrorHandlers[:1]                                                           //nolint:reassign // as above
	for name, newReflector := range map[string]newReflectorFunc{"client-go": newClientGoReflector, "clientgo": newReflector} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, newReflector) })
		})
	}
}

// runReflector runs a reflector until the end of the test, or until stop is called.
func runReflector(t *testing.T, r reflector) (stop func()) {
	t.Helper()
	stop = background(t, r.RunWithContext)
	synctest.Wait()
	return stop
}

// callRecorder is a store that records the calls of its methods, and returns an error for the
// objects called "bad".
type callRecorder struct {
	recorder[string]

	replaceErr atomic.Pointer[error] // that Replace returns
}

// failReplace makes Replace, or Commit, return err.
func (s *callRecorder) failReplace(err error) { s.replaceErr.Store(&err) }

func (s *callRecorder) replaced() error {
	if err := s.replaceErr.Load(); err != nil {
		return *err
	}
	return nil
}

func (s *callRecorder) write(verb string, obj any) error {
	s.record(verb + " " + nameAtVersion(obj))
	if obj.(metav1.Object).GetName() == "bad" {
		return errRefused
	}
	return nil
}

func (s *callRecorder) Add(obj any) error    { return s.write("Add", obj) }
func (s *callRecorder) Update(obj any) error { return s.write("Update", obj) }
func (s *callRecorder) Delete(obj any) error { return s.write("Delete", obj) }

func (s *callRecorder) Replace(objs []any, resourceVersion string) error {
	names := make([]string, 0, len(objs))
	for _, obj := range objs {
		names = append(names, nameAtVersion(obj))
	}
	slices.Sort(names)
	s.record("Replace " + strings.Join(names, " ") + " at " + resourceVersion)
	return s.replaced()
}

func (s *callRecorder) Resync() error {
	s.record("Resync")
	return nil
}

// expect checks the calls since its last call.
func (s *callRecorder) expect(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	if got := s.take(); !slices.Equal(got, want) {
		t.Errorf("the store received %q, want %q", got, want)
	}
}

// versionRecorder also records the calls of client-go's optional interfaces.
type versionRecorder struct{ callRecorder }

func (s *versionRecorder) Bookmark(resourceVersion string) error {
	s.record("Bookmark " + resourceVersion)
	return nil
}

func (s *versionRecorder) UpdateResourceVersion(resourceVersion string) {
	s.record("Version " + resourceVersion)
}
