// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate_test

import (
	"context"
	"maps"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/simulate"
)

type requestFunc func(context.Context, kubernetes.Interface) error

// eachMinute is a program that creates a Secret, which exists from then on, and does a request,
// each minute.
func eachMinute(do requestFunc) func(context.Context, *rest.Config) error {
	return withClient(func(ctx context.Context, client kubernetes.Interface) error {
		return every(ctx, time.Minute, func() {
			_ = createSecret(ctx, client, "default", "first")
			_ = do(ctx, client)
		})
	})
}

func createSecret(ctx context.Context, client kubernetes.Interface, namespace, name string) error {
	_, err := client.CoreV1().Secrets(namespace).Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	return err
}

// putStatus writes the status of a ConfigMap, which has no such subresource.
func putStatus(ctx context.Context, client kubernetes.Interface) error {
	return client.CoreV1().RESTClient().Put().Namespace("default").Resource("configmaps").Name("a").SubResource("status").Body(source("1")).Do(ctx).Error()
}

func putStale(ctx context.Context, client kubernetes.Interface) error {
	stale := source("2")
	stale.ResourceVersion = "1"
	_, err := client.CoreV1().ConfigMaps("default").Update(ctx, stale, metav1.UpdateOptions{})
	return err
}

// removeSpace creates and deletes a Namespace.
func removeSpace(w *simulate.World) {
	space := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "space"}}
	w.Create(space)
	w.Settle()
	w.Delete(space)
}

func TestRefusedRequestsAreFound(t *testing.T) {
	for _, test := range []struct {
		name, verb, kind, want string
		do                     requestFunc
		steps                  func(*simulate.World)
	}{
		{"invalid object", "create", "Secret", "21 times create of secrets default/A_b: 422 Invalid: ", func(ctx context.Context, client kubernetes.Interface) error {
			return createSecret(ctx, client, "default", "A_b")
		}, nil},
		{"missing subresource", "update status", "ConfigMap", "21 times update of configmaps/status default/a: 404 ", putStatus, nil},
		{"stale object", "update", "ConfigMap", "21 times update of configmaps default/a: 409 Conflict: ", putStale, nil},
		{"removed Namespace", "create", "Secret", `times create of secrets space/b: 404 NotFound: namespaces "space" not found`, func(ctx context.Context, client kubernetes.Interface) error {
			return createSecret(ctx, client, "space", "b")
		}, removeSpace},
	} {
		t.Run(test.name, func(t *testing.T) {
			program := simulate.Test{Start: eachMinute(test.do), Objects: []fake.Object{source("1")}, Steps: test.steps, Cluster: simulate.Workloads()}
			wantFound(t, simulate.Find(t, program, 3), "refused", test.want)

			program.MayBeRefused = func(verb string, obj fake.Object) bool {
				return verb == test.verb && obj.GetObjectKind().GroupVersionKind().Kind == test.kind && obj.GetName() != ""
			}
			wantFound(t, simulate.Find(t, program, 3), "")

			program.MayBeRefused = func(string, fake.Object) bool { return false }
			wantFound(t, simulate.Find(t, program, 3), "refused")
			program.Without = []simulate.Oracle{simulate.Refused}
			wantFound(t, simulate.Find(t, program, 3), "")
		})
	}
}

// correctlyRefused are requests that are answered with an error in a correct program.
var correctlyRefused = map[string]requestFunc{
	"optional API": func(ctx context.Context, client kubernetes.Interface) error {
		monitor := []byte(`{"apiVersion": "monitoring.example.com/v1", "kind": "Monitor", "metadata": {"name": "a"}}`)
		return client.CoreV1().RESTClient().Post().AbsPath("/apis/monitoring.example.com/v1/namespaces/default/monitors").Body(monitor).Do(ctx).Error()
	},
	"optional object": func(ctx context.Context, client kubernetes.Interface) error {
		_, err := client.CoreV1().Secrets("default").Get(ctx, "optional", metav1.GetOptions{})
		return err
	},
	"deleted object": func(ctx context.Context, client kubernetes.Interface) error {
		return client.CoreV1().Secrets("default").Delete(ctx, "absent", metav1.DeleteOptions{})
	},
	"object that is gone": func(ctx context.Context, client kubernetes.Interface) error {
		_, err := client.CoreV1().Secrets("default").Update(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "gone"}}, metav1.UpdateOptions{})
		return err
	},
	"subresource that is not served": func(ctx context.Context, client kubernetes.Interface) error {
		return client.CoreV1().RESTClient().Post().Namespace("default").Resource("configmaps").Name("a").SubResource("approval").Body(source("1")).Do(ctx).Error()
	},
	"conflicts before success": func(ctx context.Context, client kubernetes.Interface) error {
		current, err := client.CoreV1().ConfigMaps("default").Get(ctx, "a", metav1.GetOptions{})
		if err != nil || current.Data["key"] == "2" {
			return err
		}
		for range 5 {
			_ = putStale(ctx, client)
		}
		current.Data["key"] = "2"
		_, err = client.CoreV1().ConfigMaps("default").Update(ctx, current, metav1.UpdateOptions{})
		return err
	},
	"dry run": func(ctx context.Context, client kubernetes.Interface) error {
		_, err := client.CoreV1().Secrets("default").Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "A_b"}}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	},
	"delete as a dry run": func(ctx context.Context, client kubernetes.Interface) error {
		return client.CoreV1().ConfigMaps("default").Delete(ctx, "a", metav1.DeleteOptions{
			DryRun: []string{metav1.DryRunAll}, Preconditions: metav1.NewUIDPreconditions("another"),
		})
	},
}

func TestRefusedRequestsOfCorrectProgramsPass(t *testing.T) {
	limitRuns(t, 20)
	for name, do := range correctlyRefused {
		t.Run(name, func(t *testing.T) {
			simulate.Run(t, simulate.Test{Start: eachMinute(do), Objects: []fake.Object{source("1")}})
		})
	}
}

// A program may write nothing but what it is refused.
func TestProgramWithRefusedWritesAlonePasses(t *testing.T) {
	limitRuns(t, 5)
	for _, name := range []string{"deleted object", "dry run"} {
		t.Run(name, func(t *testing.T) {
			simulate.Run(t, simulate.Test{Objects: []fake.Object{source("1")}, Start: withClient(func(ctx context.Context, client kubernetes.Interface) error {
				return every(ctx, time.Minute, func() { _ = correctlyRefused[name](ctx, client) })
			})})
		})
	}
	t.Run("service", func(t *testing.T) {
		test, _ := externalTest(http.NotFound, func(ctx context.Context, c *client) { c.send(ctx, http.MethodDelete, "/a") })
		simulate.Run(t, test)
	})
}

// A Namespace may terminate for as long as something has a finalizer.
func TestRefusedCreatesInNamespaceThatStaysPass(t *testing.T) {
	limitRuns(t, 5)
	slow := source("1")
	slow.Namespace, slow.Finalizers = "space", []string{"example.com/slow"}
	simulate.Run(t, simulate.Test{
		Cluster: simulate.Workloads(),
		Start: eachMinute(func(ctx context.Context, client kubernetes.Interface) error {
			return createSecret(ctx, client, "space", "b")
		}),
		Steps: func(w *simulate.World) {
			w.Create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "space"}})
			w.Create(slow)
			w.Settle()
			w.Delete(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "space", Name: "b"}})
			w.Delete(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "space"}})
			w.Sleep(10 * time.Minute)
		},
	})
}

// A program tries again while a Namespace terminates, and stops when it is removed.
func TestRefusedCreatesInTerminatingNamespacePass(t *testing.T) {
	limitRuns(t, 20)
	var refused atomic.Int64
	program := eachMinute(func(ctx context.Context, client kubernetes.Interface) error {
		if _, err := client.CoreV1().Namespaces().Get(ctx, "space", metav1.GetOptions{}); err != nil {
			return err
		}
		err := createSecret(ctx, client, "space", "b")
		if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
			refused.Add(1)
		}
		return err
	})
	slow := source("1")
	slow.Namespace, slow.Finalizers = "space", []string{"example.com/slow"}
	simulate.Run(t, simulate.Test{Start: program, Cluster: simulate.Workloads(), Steps: func(w *simulate.World) {
		w.Create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "space"}})
		w.Create(slow)
		w.Settle()
		w.Delete(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "space"}})
		refused.Store(0)
		w.Sleep(10 * time.Minute)
		if n := refused.Load(); n < 5 { // ten, but for those that a crash prevents or delays
			t.Errorf("%d creates were refused in ten minutes", n)
		}
		done := slow.DeepCopy()
		done.Finalizers = []string{}
		w.Update(done)
	}})
}

func TestRefusalsThatCount(t *testing.T) {
	const (
		list, update = "/api/v1/namespaces/default/pods", "/api/v1/namespaces/default/pods/a"
		lease        = "/apis/coordination.k8s.io/v1/namespaces/default/leases/a"
		forbidden    = http.StatusForbidden
	)
	for _, test := range []struct {
		method, uri, body string
		codes             []int
		want              map[string]int
	}{
		{"GET", list, "", []int{forbidden, forbidden}, map[string]int{"list of pods default": 2}},
		{"GET", list + "?watch=1", "", []int{forbidden}, map[string]int{"watch of pods default": 1}},
		{"GET", list, "", []int{forbidden, http.StatusOK}, map[string]int{}},
		{"GET", update, "", []int{http.StatusNotFound, http.StatusTooManyRequests}, map[string]int{}},
		{"PUT", update, "{}", []int{http.StatusConflict, http.StatusUnprocessableEntity}, map[string]int{"update of pods default/a": 2}},
		{"PUT", update, "{}", []int{http.StatusConflict, http.StatusOK, http.StatusConflict}, map[string]int{"update of pods default/a": 1}},
		{"PUT", update, "{}", []int{http.StatusInternalServerError}, map[string]int{}},
		{"PUT", lease, "{}", []int{http.StatusConflict}, map[string]int{}},
		{"PUT", lease, "{}", []int{forbidden}, map[string]int{"update of leases default/a": 1}},
		{"DELETE", update, "", []int{http.StatusNotFound}, map[string]int{}},
		{"DELETE", update, "", []int{http.StatusConflict}, map[string]int{"delete of pods default/a": 1}},
		{"DELETE", list, "", []int{http.StatusNotFound}, map[string]int{}},
	} {
		if got := simulate.CountRefusals(test.method, test.uri, test.body, test.codes...); !maps.Equal(got, test.want) {
			t.Errorf("%s %s answered with %v: got %v, want %v", test.method, test.uri, test.codes, got, test.want)
		}
	}
}

// A refused write changes nothing, and says what the program wanted.
func TestInvariantIsCalledForRefusedWrites(t *testing.T) {
	test := simulate.Test{Start: eachMinute(putStale), Objects: []fake.Object{source("1")}, Disturb: []simulate.Disturbance{}}
	test.Invariants = []func(simulate.Write) error{func(w simulate.Write) error {
		if apierrors.IsConflict(w.Err) && len(simulate.All[*corev1.ConfigMap](w.After)) == 1 {
			return w.Err
		}
		return nil
	}}
	wantFound(t, simulate.Find(t, test, 3), "invariant", "the object has been modified")
}
