// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"context"
	"flag"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/metrics"
)

var update = flag.Bool("update", false, "write the golden files")

// TestExposition compares the text that Prometheus reads of an informer with a blocked handler and
// a failed relist, of one that has not run and of an invalid one.
func TestExposition(t *testing.T) {
	runtime.GC() // the name of an invalid informer is free once it is garbage
	synctest.Test(t, func(t *testing.T) {
		pods, idle := newPods(t, "pods"), newPods(t, "idle")
		invalid := cache.NewSharedInformer(nil, &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{Name: "invalid"})
		resume := make(chan struct{})
		pods.handle(t, "blocked", func() { <-resume })
		pods.handle(t, "quick", func() {})
		stop := pods.start(t)
		pods.server.Update(newPod("a"))
		pods.server.Update(newPod("b"))
		advance(time.Minute)
		pods.server.InjectListFault(2, fake.Fault{Err: fake.Forbidden()})
		pods.server.InjectListFault(1, fake.Fault{Delay: time.Hour})
		pods.server.InjectWatchFault(2, fake.Fault{Err: apierrors.NewResourceExpired("too old")})
		pods.server.CloseWatches()
		advance(time.Minute)
		compareGolden(t, "testdata/metrics.txt", scrape(t, register(pods, idle, invalid)))
		close(resume)
		stop()
	})
}

func compareGolden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// TestLint runs promlint.
func TestLint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pods := newPods(t, "pods")
		pods.handle(t, "handler", func() {})
		defer pods.start(t)()
		problems, err := testutil.CollectAndLint(metrics.NewCollector(pods))
		if err != nil {
			t.Fatal(err)
		}
		for _, problem := range problems {
			t.Errorf("%s: %s", problem.Metric, problem.Text)
		}
	})
}

// TestFieldsOfObjectsHaveTheirKind has the metrics of an informer of some fields of Pods.
func TestFieldsOfObjectsHaveTheirKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type partialPod = cache.PartialObject[*corev1.Pod, struct{}]
		server := fake.NewListerWatcher(&corev1.Pod{})
		server.Create(newPod("a"))
		pods := cache.NewSharedInformer(server, &partialPod{}, cache.InformerOptions[*partialPod]{Name: "fields"})
		ctx, cancel := context.WithCancel(t.Context())
		stopped := make(chan error, 1)
		go func() { stopped <- pods.Run(ctx) }()
		synctest.Wait()
		expectSeries(t, register(pods), "kinformer_objects", `informer="fields",kind="Pod"`)
		cancel()
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	})
}
