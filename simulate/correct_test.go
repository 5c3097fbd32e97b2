// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate_test

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/simulate"
)

// withClient is a program that has a client of built-in types.
func withClient(run func(context.Context, kubernetes.Interface) error) func(context.Context, *rest.Config) error {
	return func(ctx context.Context, config *rest.Config) error {
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			return err
		}
		return run(ctx, client)
	}
}

// every calls do every period until ctx ends.
func every(ctx context.Context, period time.Duration, do func()) error {
	for {
		do()
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(period):
		}
	}
}

func TestWatchEndsWithContextOfRequest(t *testing.T) {
	program := withClient(func(ctx context.Context, client kubernetes.Interface) error {
		short, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		for _, c := range []context.Context{short, ctx} {
			watch, err := client.CoreV1().ConfigMaps("default").Watch(c, metav1.ListOptions{})
			if err != nil {
				return err
			}
			for range watch.ResultChan() {
			}
			if ctx.Err() != nil {
				return nil
			}
			if _, err := client.CoreV1().Secrets("default").Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "timed-out"}}, metav1.CreateOptions{}); err != nil {
				return err
			}
		}
		return nil
	})
	found := simulate.Find(t, simulate.Test{Start: program, Disturb: []simulate.Disturbance{}, Steps: func(w *simulate.World) {
		if !w.Get(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "timed-out"}}) {
			t.Error("the watch did not end after a minute")
		}
	}}, 3)
	wantFound(t, found, "")
}

// A Rest that is shorter than a Lag or a Gap does not end it.
func TestSettleWaitsForHeldEvents(t *testing.T) {
	test := copying(copyConfigMap)
	test.Rest = 5 * time.Second
	wantFound(t, simulate.Find(t, test, 100), "")
	test.Rest = 0
	wantFound(t, simulate.RunPlan(t, test, 0, simulate.Lag{After: "1st update of configmaps default/a by steps", For: time.Hour}), "")
}

func TestProgramMayPollForAnyTime(t *testing.T) {
	poll := withClient(func(ctx context.Context, client kubernetes.Interface) error {
		return every(ctx, time.Second, func() { _, _ = client.CoreV1().ConfigMaps("default").Get(ctx, "a", metav1.GetOptions{}) })
	})
	var slept time.Duration
	test := simulate.Test{Start: poll, Rest: time.Minute, Without: []simulate.Oracle{simulate.EndState}, Steps: func(w *simulate.World) {
		began := time.Now()
		w.Sleep(16 * time.Hour)
		slept = time.Since(began)
	}}
	wantFound(t, simulate.Find(t, test, 1), "")
	if slept < 16*time.Hour {
		t.Errorf("slept %v, want 16h", slept)
	}
}

// The other client of a Conflict changes nothing that a program may rely on.
func TestConflictKeepsAnnotations(t *testing.T) {
	object := source("1")
	object.Annotations = map[string]string{"managed": "yes"}
	program := start(func(ctx context.Context, c *copier, key string) error {
		source, err := c.configMaps.ConfigMaps("default").Get("a")
		if err != nil || source.Data["key"] == "2" {
			return err
		}
		if source.Annotations["managed"] == "" {
			t.Errorf("got annotations %v", source.Annotations)
		}
		changed := source.DeepCopy()
		changed.Data["key"] = "2"
		_, err = c.client.CoreV1().ConfigMaps("default").Update(ctx, changed, metav1.UpdateOptions{})
		return err
	})
	wantFound(t, simulate.RunPlan(t, simulate.Test{Start: program, Objects: []fake.Object{object}}, 0, simulate.Conflict{To: "1st update of configmaps default/a"}), "")
}

func TestDefinitionAmongObjects(t *testing.T) {
	definition := fake.CustomResource{Group: "example.com", Versions: []string{"v1"}, Kind: "Website"}.Definition()
	website := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Website", "metadata": map[string]any{"namespace": "default", "name": "a"},
	}}
	test := simulate.Test{Start: start(copyConfigMap), Objects: []fake.Object{definition, website, source("1")}, Steps: func(w *simulate.World) { w.Delete(website) }}
	wantFound(t, simulate.Find(t, test, 3), "")
	test.Objects = []fake.Object{website}
	wantFound(t, simulate.Find(t, test, 3), "steps", "must be in Test.CustomResources")
}

func TestCreatesAreWorkDespiteIgnore(t *testing.T) {
	leak := withClient(func(ctx context.Context, client kubernetes.Interface) error {
		return every(ctx, 10*time.Minute, func() {
			_, _ = client.CoreV1().Secrets("default").Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{GenerateName: "leak-"}}, metav1.CreateOptions{})
		})
	})
	wantFound(t, simulate.Find(t, simulate.Test{Start: leak, Ignore: []string{"status.foo"}}, 3), "rest", "create of secrets")
}

// A program that receives the deletions in a Namespace late creates objects in it. The server
// refuses them while the Namespace terminates, and when it is removed: none is left behind.
func TestCreatesInDeletedNamespaceAreRefused(t *testing.T) {
	refused := map[string]int{}
	program := start(func(ctx context.Context, c *copier, key string) error {
		namespace, name, _ := strings.Cut(key, "/")
		source, err := c.configMaps.ConfigMaps(namespace).Get(name)
		if err != nil || source.Labels["copy"] == "" {
			return nil
		}
		if _, err := c.secrets.Secrets(namespace).Get(name); err == nil {
			return nil
		}
		_, err = c.client.CoreV1().Secrets(namespace).Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
			refused["terminates"]++
			return err // it tries again
		}
		if apierrors.IsNotFound(err) {
			refused["is removed"]++
			return nil
		}
		return err
	})
	space, copied := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "space"}}, source("1")
	copied.Namespace = space.Name
	test := simulate.Test{Start: program, Cluster: simulate.Workloads(), Disturb: []simulate.Disturbance{simulate.Lag{}}, Steps: func(w *simulate.World) {
		w.Create(space)
		w.Create(copied)
		w.Settle()
		w.Delete(space)
	}}
	wantFound(t, simulate.Find(t, test, 60), "")
	if refused["terminates"] == 0 || refused["is removed"] == 0 {
		t.Errorf("got refused creates %v, want some while the Namespace terminates, and some when it is removed", refused)
	}
}

// Only core's and events.k8s.io's Events say nothing of a program's work.
func TestEventsOfOtherGroupsAreWork(t *testing.T) {
	concert := fake.CustomResource{Group: "music.example.com", Versions: []string{"v1"}, Kind: "Event"}
	program := func(ctx context.Context, config *rest.Config) error {
		client, err := dynamic.NewForConfig(config)
		if err != nil {
			return err
		}
		events := client.Resource(schema.GroupVersionResource{Group: "music.example.com", Version: "v1", Resource: "events"}).Namespace("default")
		return every(ctx, time.Minute, func() {
			event := &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "music.example.com/v1", "kind": "Event", "metadata": map[string]any{"generateName": "e-"},
			}}
			_, _ = events.Create(ctx, event, metav1.CreateOptions{})
		})
	}
	wantFound(t, simulate.Find(t, simulate.Test{Start: program, CustomResources: []fake.CustomResource{concert}}, 3), "rest")
}

// Names that the server generates for objects of Steps and of the cluster are the same in each run.
func TestGeneratedNamesOfOthersAreNumbered(t *testing.T) {
	label := start(func(ctx context.Context, c *copier, key string) error {
		_, name, _ := strings.Cut(key, "/")
		secret, err := c.secrets.Secrets("default").Get(name)
		if err != nil || secret.Labels["seen"] != "" {
			return nil
		}
		changed := secret.DeepCopy()
		changed.Labels = map[string]string{"seen": "yes"}
		_, err = c.client.CoreV1().Secrets("default").Update(ctx, changed, metav1.UpdateOptions{})
		return err
	})
	test := simulate.Test{Start: label, Steps: func(w *simulate.World) {
		w.Create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", GenerateName: "g-"}})
	}}
	for _, seed := range []uint64{0, 7} {
		found := simulate.RunPlan(t, test, seed, simulate.ServerError{To: "1st update of secrets default/g-*1"})
		wantFound(t, found, "")
		if !strings.Contains(found.Timeline, "500") {
			t.Errorf("seed %d: the disturbance has not happened\n%s", seed, found.Timeline)
		}
	}
}

// Both informers of a process lose the events of a Gap.
func TestGapReachesAllWatchesOfResource(t *testing.T) {
	var seen [2][]string
	program := withClient(func(ctx context.Context, client kubernetes.Interface) error {
		seen = [2][]string{}
		for i := range seen {
			factory := informers.NewSharedInformerFactory(client, 0)
			if _, err := factory.Core().V1().ConfigMaps().Informer().AddEventHandler(clientcache.ResourceEventHandlerFuncs{UpdateFunc: func(_, obj any) {
				seen[i] = append(seen[i], obj.(*corev1.ConfigMap).Data["key"])
			}}); err != nil {
				return err
			}
			factory.Start(ctx.Done())
			defer factory.Shutdown()
		}
		<-ctx.Done()
		return nil
	})
	found := simulate.RunPlan(t, simulate.Test{Start: program, Objects: []fake.Object{source("1")}, Without: []simulate.Oracle{simulate.EndState}, Steps: func(w *simulate.World) {
		w.Update(source("2"))
		w.Sleep(time.Second)
		w.Update(source("3"))
	}}, 0, simulate.Gap{After: "1st update of configmaps default/a by steps"})
	wantFound(t, found, "")
	for i := range seen {
		if !slices.Equal(seen[i], []string{"3"}) {
			t.Errorf("informer %d: got updates %v, want the last state alone", i, seen[i])
		}
	}
}

func TestPanicAfterCancellationIsFound(t *testing.T) {
	program := func(ctx context.Context, _ *rest.Config) error {
		<-ctx.Done()
		panic("at the end")
	}
	wantFound(t, simulate.Find(t, simulate.Test{Start: program}, 3), "panic", "at the end")
}

func TestEnvironmentIsRestored(t *testing.T) {
	before := os.Getenv("GODEBUG")
	simulate.Find(t, copying(copyConfigMap), 1)
	simulate.Find(t, copying(copyConfigMap), 1)
	if after := os.Getenv("GODEBUG"); after != before {
		t.Errorf("got GODEBUG %q, want %q", after, before)
	}
}

// A disturbance keeps its time at each of its places.
func TestTimeOfHoldIsKept(t *testing.T) {
	test := copying(copyConfigMap)
	test.Disturb = []simulate.Disturbance{simulate.Lag{For: 90 * time.Second}}
	held := false
	test.Invariants = []func(simulate.Write) error{func(w simulate.Write) error {
		held = held || time.Now().Second() == 30 // of the second minute
		return nil
	}}
	wantFound(t, simulate.Find(t, test, 100), "")
	if !held {
		t.Error("no write came 90 s after the beginning")
	}
}
