// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package kueue

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/kinformer/kinformer/fake"
)

var jobs = fake.CustomResource{Group: "example.com", Versions: []string{"v1"}, Kind: "TrainJob"}

// TestIntegrationStartsWhenItsDefinitionAppears installs the definition of jobs after the manager
// has started, and deletes and installs it again. The controller is added once, and follows.
func TestIntegrationStartsWhenItsDefinitionAppears(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, err := fake.StartAPIServer(fake.APIServerOptions{InMemory: true})
		must(t, err)
		var requests requests
		server.InjectFault(-1, requests.record, fake.Fault{})
		reconciler := &reconciler{}
		skip := true
		manager, err := NewManager(server.Config(), ctrl.Options{
			Metrics: metricsserver.Options{BindAddress: "0"}, Controller: config.Controller{SkipNameValidation: &skip},
		}, Integration{
			Resource: schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "trainjobs"},
			Setup: func(manager ctrl.Manager) error {
				reconciler.setups++
				reconciler.Reader = manager.GetCache()
				return ctrl.NewControllerManagedBy(manager).Named("trainjob").For(job("")).Complete(reconciler)
			},
		})
		must(t, err)
		// An index makes an informer before the manager starts. Its first requests fail, so that
		// the others wait for the follower.
		server.InjectFault(5, func(r fake.APIRequest) bool { return r.Resource == "configmaps" }, fake.Fault{Err: fake.InternalError()})
		must(t, manager.GetFieldIndexer().IndexField(t.Context(), &corev1.ConfigMap{}, "data.of", func(client.Object) []string { return nil }))
		ctx, cancel := context.WithCancel(t.Context())
		stopped := make(chan error)
		go func() { stopped <- manager.Start(ctx) }()
		<-time.After(time.Hour)
		if count := requests.take(); count > 0 {
			t.Errorf("%d requests for jobs before they are served", count)
		}
		for range 3 {
			must(t, server.Create(jobs.Definition()))
			must(t, server.Create(job("train")))
			<-time.After(3 * time.Second)
			reconciler.expect(t, "train exists")
			must(t, server.Delete(jobs.Definition()))
			<-time.After(3 * time.Second)
			reconciler.expect(t, "train is gone")
			requests.take()
			<-time.After(time.Hour)
			if count := requests.take(); count > 0 {
				t.Errorf("%d requests for jobs in an hour in which they are not served", count)
			}
		}
		if reconciler.setups != 1 {
			t.Errorf("%d setups, want 1", reconciler.setups)
		}
		cancel()
		must(t, <-stopped)
		must(t, server.Close(context.Background()))
	})
}

// reconciler records what it reads.
type reconciler struct {
	client.Reader // of the cache
	setups        int

	mu   sync.Mutex
	seen []string
}

func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	err := r.Get(ctx, request.NamespacedName, job(""))
	if client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	state := request.Name + " exists"
	if apierrors.IsNotFound(err) {
		state = request.Name + " is gone"
	}
	r.seen = append(r.seen, state)
	return ctrl.Result{}, nil
}

// expect checks what the reconciler has read since the last call.
func (r *reconciler) expect(t *testing.T, want string) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.seen) != 1 || r.seen[0] != want {
		t.Errorf("the reconciler has read %q, want %q", r.seen, want)
	}
	r.seen = nil
}

// requests counts the requests for jobs.
type requests struct {
	mu    sync.Mutex
	count int
}

func (r *requests) record(request fake.APIRequest) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if request.Resource == "trainjobs" {
		r.count++
	}
	return false
}

// take returns the number of requests since the last call.
func (r *requests) take() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	count := r.count
	r.count = 0
	return count
}

func job(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": jobs.Kind, "metadata": map[string]any{"namespace": "default", "name": name},
	}}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
