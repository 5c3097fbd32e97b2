// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/simulate"
)

// storage is a fake of an object storage: PUT and DELETE of a bucket.
type storage struct {
	mu      sync.Mutex
	buckets map[string]bool
}

func newStorage() *storage { return &storage{buckets: map[string]bool{}} }

// ServeHTTP implements http.Handler.
func (s *storage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch name := r.URL.Path[1:]; {
	case r.Method == http.MethodPut:
		s.buckets[name] = true
	case s.buckets[name]:
		delete(s.buckets, name)
	default:
		http.NotFound(w, r)
	}
}

// state returns the buckets, sorted.
func (s *storage) state() any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return map[string]any{"buckets": slices.Sorted(maps.Keys(s.buckets))}
}

const bucketFinalizer = "example.com/bucket"

// bucketOperator keeps a bucket in an object storage for the Cluster. Its finalizer keeps a deleted
// Cluster until the bucket is deleted.
//
// The bug: it removes the finalizer first. If the process crashes between the two, or the delete of
// the bucket fails, the Cluster is gone, and nothing deletes the bucket any more.
type bucketOperator struct {
	*operator
	storage *http.Client
	mended  bool
}

// buckets returns the test of the operator. The storage and its transport are made anew by each
// run.
func buckets(mended bool) simulate.Test {
	var service *storage
	var transport http.RoundTripper
	test := operatorTest(func(o *operator) syncFunc {
		b := bucketOperator{operator: o, storage: &http.Client{Transport: transport}, mended: mended}
		return ifPresent(b.sync)
	})
	test.Objects = []fake.Object{sized(1)}
	test.Setup = func(w *simulate.World) {
		service = newStorage()
		transport = w.External("storage", service)
	}
	test.Outside = func() any { return service.state() }
	test.Steps = func(w *simulate.World) { w.Delete(sized(1)) }
	return test
}

func (b bucketOperator) sync(ctx context.Context, cluster *unstructured.Unstructured) error {
	hasFinalizer := slices.Contains(cluster.GetFinalizers(), bucketFinalizer)
	switch isDeleted := cluster.GetDeletionTimestamp() != nil; {
	case isDeleted && !hasFinalizer:
		return nil
	case isDeleted && b.mended:
		if err := b.send(ctx, http.MethodDelete); err != nil {
			return err
		}
		return b.setFinalizers(ctx, cluster)
	case isDeleted:
		if err := b.setFinalizers(ctx, cluster); err != nil {
			return err
		}
		return b.send(ctx, http.MethodDelete)
	case !hasFinalizer:
		return b.setFinalizers(ctx, cluster, bucketFinalizer)
	}
	return b.send(ctx, http.MethodPut)
}

// setFinalizers sets the finalizers of the Cluster, unless it has changed.
func (b bucketOperator) setFinalizers(ctx context.Context, cluster *unstructured.Unstructured, finalizers ...string) error {
	changed := cluster.DeepCopy()
	changed.SetFinalizers(finalizers)
	_, err := b.dynamic.Resource(clusterResource).Namespace(namespace).Update(ctx, changed, metav1.UpdateOptions{})
	return ignoring(apierrors.IsNotFound, err)
}

// send creates or deletes the bucket. The absence of a bucket that is to be deleted is no error.
func (b bucketOperator) send(ctx context.Context, method string) error {
	request, err := http.NewRequestWithContext(ctx, method, "https://storage.example.com/"+clusterName, http.NoBody)
	if err != nil {
		return err
	}
	response, err := b.storage.Do(request)
	if err != nil {
		return err
	}
	_ = response.Body.Close() // in memory
	if response.StatusCode >= http.StatusBadRequest && response.StatusCode != http.StatusNotFound {
		return fmt.Errorf("%s bucket %s: %s", method, clusterName, response.Status)
	}
	return nil
}

func TestBucketThatIsLeftIsFound(t *testing.T) {
	for seed := range uint64(3) {
		found := simulate.FindWithSeed(t, buckets(false), 50, seed+1)
		wantFound(t, found, "end state", `Outside: state.buckets[0] is "db", and not set in the undisturbed run`)
		if n := simulate.Repeat(t, buckets(false), found, bugRepeats); n != bugRepeats {
			t.Errorf("%s failed again in %d of %d repeats", found.Plan, n, bugRepeats)
		}
		t.Logf("seed %d: found after %d runs: %s\n%s\n%s", seed+1, found.Runs, found.Plan, found.Text, found.Timeline)
	}
}

func TestMendedBucketOperatorPasses(t *testing.T) { simulate.Run(t, buckets(true)) }
