// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"

	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/simulate"
)

// writer creates the ConfigMap default/b, and reports the results of its requests. Then it waits.
func writer(results *[]string) func(context.Context, *rest.Config) error {
	return withClient(func(ctx context.Context, client kubernetes.Interface) error {
		configMaps := client.CoreV1().ConfigMaps("default")
		for ctx.Err() == nil {
			_, err := configMaps.Create(context.Background(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "b"}}, metav1.CreateOptions{})
			*results = append(*results, resultOf(err))
			if err == nil || apierrors.IsAlreadyExists(err) {
				break
			}
		}
		<-ctx.Done()
		return nil
	})
}

func resultOf(err error) string {
	if err == nil {
		return "created"
	}
	if reason := apierrors.ReasonForError(err); reason != "" {
		return string(reason)
	}
	return err.Error()[strings.LastIndex(err.Error(), ": ")+2:]
}

func TestDisturbancesOfWrites(t *testing.T) {
	const write = "1st create of configmaps default/b"
	for _, test := range []struct {
		disturbance simulate.Disturbance
		want        string
	}{
		{simulate.Crash{Before: write}, "connection refused, created"},
		{simulate.Crash{After: write}, "connection reset by peer, AlreadyExists"},
		{simulate.LostResponse{To: write}, "connection reset by peer, AlreadyExists"},
		{simulate.ServerError{To: write}, "InternalError, created"},
		{simulate.TooManyRequests{To: write}, "created"}, // client-go has tried again
	} {
		t.Run(test.disturbance.String(), func(t *testing.T) {
			var results []string
			found := simulate.RunPlan(t, simulate.Test{Start: writer(&results)}, 0, test.disturbance)
			wantFound(t, found, "")
			if got := strings.Join(results, ", "); got != "created, "+test.want { // the first is of the undisturbed run
				t.Errorf("got %s, want created, %s\n%s", got, test.want, found.Timeline)
			}
		})
	}
}

// incrementer adds one to the value of a ConfigMap, and reports the results of its requests.
func incrementer(results *[]string) func(context.Context, *rest.Config) error {
	return withClient(func(ctx context.Context, client kubernetes.Interface) error {
		configMaps := client.CoreV1().ConfigMaps("default")
		err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
			configMap, err := configMaps.Get(ctx, "a", metav1.GetOptions{})
			if err != nil || configMap.Data["key"] == "2" {
				return err
			}
			configMap.Data["key"] = "2"
			_, err = configMaps.Update(ctx, configMap, metav1.UpdateOptions{})
			*results = append(*results, resultOf(err))
			return err
		})
		if err != nil && ctx.Err() == nil {
			return err
		}
		<-ctx.Done()
		return nil
	})
}

// Another writer changes the object and changes it back: the 409 is the server's own.
func TestConflict(t *testing.T) {
	var results []string
	found := simulate.RunPlan(t, simulate.Test{Start: incrementer(&results), Objects: []fake.Object{source("1")}}, 0,
		simulate.Conflict{To: "1st update of configmaps default/a"})
	wantFound(t, found, "")
	if got := strings.Join(results, ", "); got != "created, Conflict, created" {
		t.Errorf("got %s, want a success in the first run, then a conflict and a success\n%s", got, found.Timeline)
	}
}

// observer reports what a watch of ConfigMaps in the store of an informer receives, and when.
func observer(events *[]string) func(context.Context, *rest.Config) error {
	return func(ctx context.Context, config *rest.Config) error {
		began := time.Now()
		reconcile := func(_ context.Context, c *copier, key string) error {
			state := "absent"
			if source, err := c.configMaps.ConfigMaps("default").Get("a"); err == nil {
				state = source.Data["key"]
			}
			*events = append(*events, fmt.Sprintf("%s after %v", state, time.Since(began)))
			if state == "1" {
				changed := source("2")
				changed.Labels = nil
				_, err := c.client.CoreV1().ConfigMaps("default").Update(context.Background(), changed, metav1.UpdateOptions{})
				return err
			}
			return nil
		}
		return start(reconcile)(ctx, config)
	}
}

func TestDisturbancesOfWatches(t *testing.T) {
	const write = "1st update of configmaps default/a"
	for _, test := range []struct {
		disturbance simulate.Disturbance
		want        string
	}{
		{simulate.Lag{After: write}, "1 after 0s, 2 after 10s, 3 after 10s"},
		{simulate.Lag{After: write, For: time.Minute}, "1 after 0s, 2 after 1m0s, 3 after 1m0s"},
		{simulate.Gap{After: write}, "1 after 0s, 3 after 10."}, // and the delay of the reflector
	} {
		t.Run(test.disturbance.String(), func(t *testing.T) {
			var events []string
			found := simulate.RunPlan(t, simulate.Test{
				Start:   observer(&events),
				Objects: []fake.Object{source("1")},
				Steps:   func(w *simulate.World) { w.Sleep(time.Second) },
				Cluster: []simulate.Actor{thirdWrite},
			}, 0, test.disturbance)
			wantFound(t, found, "")
			events = events[3:] // of the undisturbed run
			if got := strings.Join(events, ", "); !strings.HasPrefix(got, test.want) {
				t.Errorf("got %s, want %s\n%s", got, test.want, found.Timeline)
			}
		})
	}
}

// The program watches Secrets, and no Pods.
func TestHoldsWakeTheProgram(t *testing.T) {
	test := copying(copyConfigMap)
	meta := metav1.ObjectMeta{Namespace: "default", Name: "b"}
	configMap, secret := &corev1.ConfigMap{ObjectMeta: meta}, &corev1.Secret{ObjectMeta: meta}
	pod := &corev1.Pod{ObjectMeta: meta, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "b", Image: "b"}}}}
	test.Objects = append(test.Objects, configMap, secret, pod)
	for _, d := range []simulate.Disturbance{
		simulate.Lag{After: "1st update of configmaps default/a by steps"},
		simulate.Gap{After: "1st update of configmaps default/a by steps"},
	} {
		found := simulate.RunPlan(t, test, 0, d)
		wantFound(t, found, "")
		const want = "20m0.5s             another client writes to 2 secrets, without effect\n" +
			"   20m0.5s  process 1  receives MODIFIED Secret default/a at version 8\n" +
			"   20m0.5s  process 1  receives MODIFIED Secret default/b at version 9\n"
		if n := strings.Count(found.Timeline, "another client"); n != 1 || !strings.Contains(found.Timeline, want) {
			t.Errorf("%s: want once\n%s\nin\n%s", d, want, found.Timeline)
		}
	}
}

// A Lag with UntilTimer ends when the program has acted on a timer, which it does not by a Lease.
func TestLagEndsAfterTimerOfTheProgram(t *testing.T) {
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "leader"}}
	for name, test := range map[string]struct {
		do    requestFunc
		until string
	}{
		"request": {func(ctx context.Context, client kubernetes.Interface) error {
			return client.CoreV1().Secrets("default").Delete(ctx, "a", metav1.DeleteOptions{})
		}, "1m0s"},
		"Lease": {func(ctx context.Context, client kubernetes.Interface) error {
			_, err := client.CoordinationV1().Leases("default").Create(ctx, lease, metav1.CreateOptions{})
			return err
		}, "2m50s"},
		"no request": {func(context.Context, kubernetes.Interface) error { return nil }, "2m50s"},
	} {
		t.Run(name, func(t *testing.T) {
			found := simulate.RunPlan(t, simulate.Test{
				Start:   copyingOnTimer(test.do),
				Objects: []fake.Object{source("1")},
				Rest:    30 * time.Second,
				Steps: func(w *simulate.World) {
					w.Sleep(20 * time.Second)
					w.Update(source("2"))
				},
			}, 0, simulate.Lag{After: "1st update of configmaps default/a by steps", UntilTimer: true})
			_, after, _ := strings.Cut(found.Timeline, "another client")
			before, _, _ := strings.Cut(after, "the events of configmaps are delivered")
			lines := strings.Split(before, "\n")
			if last := strings.TrimSpace(lines[len(lines)-1]); last != test.until {
				t.Errorf("the Lag ends at %s, want %s\n%s", last, test.until, found.Timeline)
			}
			if created := strings.Contains(before, "create of secrets default/a at"); created != (name == "request") {
				t.Errorf("got %t, want the consequences of the request before the end\n%s", created, found.Timeline)
			}
		})
	}
}

// copyingOnTimer is a program that copies ConfigMaps, and does a request each minute.
func copyingOnTimer(do requestFunc) func(context.Context, *rest.Config) error {
	onTimer := withClient(func(ctx context.Context, client kubernetes.Interface) error {
		return every(ctx, time.Minute, func() { _ = do(ctx, client) })
	})
	return func(ctx context.Context, config *rest.Config) error {
		done := make(chan error)
		go func() { done <- onTimer(ctx, config) }()
		return errors.Join(start(copyConfigMap)(ctx, config), <-done)
	}
}

// thirdWrite updates the ConfigMap after the program has.
func thirdWrite(s simulate.State) []simulate.Action {
	for _, configMap := range simulate.All[*corev1.ConfigMap](s) {
		if configMap.Data["key"] == "2" {
			return []simulate.Action{{Verb: "update", Object: source("3")}}
		}
	}
	return nil
}

// secondConfigMap is a cluster that creates a ConfigMap, which the program does not copy.
func secondConfigMap(s simulate.State) []simulate.Action {
	for _, configMap := range simulate.All[*corev1.ConfigMap](s) {
		if configMap.Name == "b" {
			return nil
		}
	}
	return []simulate.Action{{Verb: "create", Object: &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "b"}}}}
}

func TestEventsOfOthersWritesAreHeld(t *testing.T) {
	test := copying(copyConfigMap)
	test.Cluster = []simulate.Actor{secondConfigMap}
	for _, d := range []simulate.Disturbance{
		simulate.Lag{After: "1st update of configmaps default/a by steps"},
		simulate.Gap{After: "1st delete of configmaps default/a by steps"},
		simulate.Lag{After: "1st create of configmaps default/b by cluster"},
		simulate.Gap{After: "1st create of configmaps default/b by cluster"},
	} {
		found := simulate.RunPlan(t, test, 0, d)
		wantFound(t, found, "")
		if !strings.Contains(found.Timeline, "are delivered") && !strings.Contains(found.Timeline, "are lost") {
			t.Errorf("%s: no events were held\n%s", d, found.Timeline)
		}
	}
}

// readAtStart updates the ConfigMap once it reads "2", and reports what it has read from time to
// time.
func readAtStart(reads *[]string) func(context.Context, *rest.Config) error {
	return withClient(func(ctx context.Context, client kubernetes.Interface) error {
		for ctx.Err() == nil {
			configMap, err := client.CoreV1().ConfigMaps("default").Get(context.Background(), "a", metav1.GetOptions{})
			if err != nil {
				return err
			}
			if value := configMap.Data["key"]; len(*reads) == 0 || (*reads)[len(*reads)-1] != value {
				*reads = append(*reads, value)
			}
			if configMap.Data["key"] == "2" {
				configMap.Data["key"] = "3"
				_, _ = client.CoreV1().ConfigMaps("default").Update(context.Background(), configMap, metav1.UpdateOptions{}) // disturbed
			}
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
		}
		return nil
	})
}

func TestProcessGoesBackInTime(t *testing.T) {
	var reads []string
	found := simulate.RunPlan(t, simulate.Test{
		Start:   readAtStart(&reads),
		Objects: []fake.Object{source("1")},
		Steps:   func(w *simulate.World) { w.Update(source("2")) },
	}, 0, simulate.BackInTime{Before: "1st update of configmaps default/a"})
	wantFound(t, found, "")
	if got := strings.Join(reads, " "); got != "1 2 3 1 2 1 2 3" {
		t.Errorf("got %s, want 1 2 3 in the first run, then 1 2, the 1 of the past, and 2 3\n%s", got, found.Timeline)
	}
}

// At the end of a Settle there would be nothing to do.
func TestProcessGoesBackToStateThatItHasNotReactedTo(t *testing.T) {
	var reads []string
	found := simulate.RunPlan(t, simulate.Test{
		Start:   readAtStart(&reads),
		Objects: []fake.Object{source("1")},
		Steps: func(w *simulate.World) {
			w.Update(source("2"))
			w.Settle()
			w.Update(source("4"))
			w.Settle()
			w.Update(source("2"))
		},
	}, 0, simulate.BackInTime{Before: "2nd update of configmaps default/a"})
	wantFound(t, found, "")
	if got := strings.Join(reads, " "); got != "1 2 3 4 2 3 1 2 3 4 2 4 2 3" {
		t.Errorf("got %s, want 1 2 3 4 2 3 in the first run, then 1 2 3 4 2, the 4 of the past, and 2 3\n%s", got, found.Timeline)
	}
}

// A disturbance with a place that no run reaches would be a test that tests nothing.
func TestPlaceThatNoRunReachesFails(t *testing.T) {
	found := simulate.Find(t, simulate.Test{Start: writer(new([]string)), Disturb: []simulate.Disturbance{simulate.Crash{Before: "1st create of pods default/a"}}}, 20)
	wantFound(t, found, "steps", "has not happened", "1st create of configmaps default/b")
}
