// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulatecr_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/testing/goroutines"
	"github.com/kinformer/kinformer/simulate"
	"github.com/kinformer/kinformer/simulate/simulatecr"
)

// copyToSecret is a controller that copies the data of each ConfigMap into a Secret.
func copyToSecret(m ctrl.Manager) error {
	c := m.GetClient()
	return ctrl.NewControllerManagedBy(m).For(&corev1.ConfigMap{}).Owns(&corev1.Secret{}).
		Complete(reconcile.Func(func(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
			var source corev1.ConfigMap
			if err := c.Get(ctx, request.NamespacedName, &source); err != nil {
				return reconcile.Result{}, client.IgnoreNotFound(err)
			}
			secret := corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: source.Namespace, Name: source.Name}}
			_, err := ctrl.CreateOrUpdate(ctx, c, &secret, func() error {
				secret.Data = map[string][]byte{"key": []byte(source.Data["key"])}
				return ctrl.SetControllerReference(&source, &secret, m.GetScheme())
			})
			if apierrors.IsAlreadyExists(err) || apierrors.IsConflict(err) {
				return reconcile.Result{RequeueAfter: time.Second}, nil // the cache is late
			}
			return reconcile.Result{}, err
		}))
}

func source(data string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}, Data: map[string]string{"key": data}}
}

// copying returns the test of a manager that copies a ConfigMap, which changes.
func copying(options ctrl.Options, setUp func(ctrl.Manager) error) simulate.Test {
	return simulate.Test{
		Start:   simulatecr.Start(options, setUp),
		Objects: []fake.Object{source("1")},
		Steps:   func(w *simulate.World) { w.Update(source("2")) },
	}
}

// A manager has the options and the servers of production, and listens on no port.
func TestManagerOfProduction(t *testing.T) {
	before := runtime.NumGoroutine()
	options := ctrl.Options{
		Metrics:                metricsserver.Options{BindAddress: ":8443", SecureServing: true},
		HealthProbeBindAddress: ":8081",
		PprofBindAddress:       ":8082",
	}
	simulate.Run(t, copying(options, func(m ctrl.Manager) error {
		m.GetWebhookServer().Register("/validate", http.NotFoundHandler())
		return errors.Join(
			m.AddMetricsServerExtraHandler("/debug", http.NotFoundHandler()),
			m.AddHealthzCheck("healthz", healthz.Ping),
			m.AddReadyzCheck("webhooks", m.GetWebhookServer().StartedChecker()),
			copyToSecret(m),
		)
	}))
	goroutines.ExpectAtMost(t, before)
}

// The metrics of a queue are updated twice a second, and the clock advances by hours.
func TestQueuesHaveNoMetrics(t *testing.T) {
	simulate.Replay(t, copying(ctrl.Options{}, copyToSecret), 0)
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	reconciled := false
	for _, family := range families {
		if strings.HasPrefix(family.GetName(), "workqueue_") {
			t.Errorf("%s has %d series, want none", family.GetName(), len(family.GetMetric()))
		}
		reconciled = reconciled || family.GetName() == "controller_runtime_reconcile_total"
	}
	if !reconciled {
		t.Error("no controller has metrics")
	}
}

// worker is a Runnable of a program that has a field of the name that controllers have.
type worker struct {
	NewQueue func(name string, sizes ...int) string
	queue    string
}

// Start implements manager.Runnable.
func (w *worker) Start(ctx context.Context) error {
	w.queue = w.NewQueue("work", 1, 2)
	<-ctx.Done()
	return nil
}

// Only controllers of controller-runtime are adapted.
func TestRunnableOfProgramIsNotChanged(t *testing.T) {
	test := copying(ctrl.Options{}, func(m ctrl.Manager) error {
		w := &worker{NewQueue: func(name string, sizes ...int) string { return fmt.Sprint(name, sizes) }}
		t.Cleanup(func() {
			if want := "work[1 2]"; w.queue != want {
				t.Errorf("got queue %q, want %q", w.queue, want)
			}
		})
		return m.Add(w)
	})
	test.Without = []simulate.Oracle{simulate.EndState} // it writes nothing
	simulate.Replay(t, test, 0)
}

// Two replicas choose a leader. The other one takes over when the leader crashes.
func TestLeaderElection(t *testing.T) {
	test := copying(ctrl.Options{LeaderElection: true, LeaderElectionID: "copy"}, copyToSecret)
	test.Replicas = 2
	update := test.Steps
	test.Steps = func(w *simulate.World) {
		if !w.Get(&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "copy"}}) {
			t.Error("there is no Lease")
		}
		update(w)
	}
	simulate.Run(t, test)
}

// A manager that has durations keeps them.
func TestLeaseDurationsOfOptions(t *testing.T) {
	options := ctrl.Options{LeaderElection: true, LeaderElectionID: "copy", LeaseDuration: new(time.Hour), RenewDeadline: new(40 * time.Minute), RetryPeriod: new(20 * time.Minute)}
	test := copying(options, copyToSecret)
	test.Rest = 2 * time.Hour
	test.Steps = func(w *simulate.World) {
		lease := coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "copy"}}
		if !w.Get(&lease) || *lease.Spec.LeaseDurationSeconds != 3600 {
			t.Errorf("got Lease %v, want one of an hour", lease.Spec)
		}
	}
	test.Disturb = []simulate.Disturbance{simulate.Crash{}}
	simulate.Run(t, test)
}

// inner is the environment variable of a process in which a simulation is to fail.
const inner = "SIMULATECR_INNER"

// runInner calls fail, which fails the test, in a process of its own, and returns the output there.
// In that process, it returns nothing.
func runInner(t *testing.T, fail func()) (output string) {
	t.Helper()
	if os.Getenv(inner) != "" {
		fail()
		return ""
	}
	command := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^"+t.Name()+"$")
	command.Env = append(os.Environ(), inner+"=1")
	text, err := command.CombinedOutput()
	if err == nil {
		t.Errorf("the simulation has not failed:\n%s", text)
	}
	return string(text)
}

// A panic that controller-runtime recovers and tries again fails the run.
func TestPanicOfReconcilerFailsRun(t *testing.T) {
	output := runInner(t, func() {
		panicked := false
		simulate.Run(t, copying(ctrl.Options{Controller: config.Controller{RecoverPanic: new(false)}}, func(m ctrl.Manager) error {
			return ctrl.NewControllerManagedBy(m).For(&corev1.ConfigMap{}).WithOptions(controller.Options{RecoverPanic: new(false)}).
				Complete(reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
					if !panicked {
						panicked = true
						panic("no ConfigMap")
					}
					return reconcile.Result{}, nil
				}))
		}))
	})
	if output != "" && !strings.Contains(output, "a panic was recovered: no ConfigMap") {
		t.Errorf("got\n%s\nwant a report of the panic", output)
	}
}

// unanswered is a transport whose requests block until their context is cancelled.
type unanswered chan struct{}

// RoundTrip implements http.RoundTripper.
func (u unanswered) RoundTrip(r *http.Request) (*http.Response, error) {
	select {
	case u <- struct{}{}:
	default:
	}
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// mapConfigMaps returns a mapper that makes no requests.
func mapConfigMaps(*rest.Config, *http.Client) (meta.RESTMapper, error) {
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("ConfigMap"), meta.RESTScopeNamespace)
	return mapper, nil
}

// A manager of controller-runtime that is cancelled before its cache has synced does not return.
func TestManagerReturnsBeforeItsCacheHasSynced(t *testing.T) {
	requests, done := make(unanswered, 1), make(chan error)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		start := simulatecr.Start(ctrl.Options{MapperProvider: mapConfigMaps}, func(m ctrl.Manager) error {
			_, err := m.GetCache().GetInformer(ctx, &corev1.ConfigMap{}, ctrlcache.BlockUntilSynced(false))
			return err
		})
		done <- start(ctx, &rest.Config{Host: "http://unanswered", Transport: requests})
	}()
	<-requests
	cancel()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("Start has not returned")
	}
}
