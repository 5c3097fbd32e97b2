// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package fake_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/fake"
)

func TestFaultsApplyInOrder(t *testing.T) {
	lw := threePods()
	lw.InjectListFault(2, fake.Fault{Err: fake.InternalError()})
	lw.InjectListFault(1, fake.Fault{Err: fake.Expired()})
	lw.InjectWatchFault(-1, fake.Fault{Err: fake.Forbidden()})
	lw.InjectListFault(0, fake.Fault{Err: errors.New("never")})
	ctx := context.Background()
	var got []string
	for range 4 {
		_, err := lw.List(ctx, metav1.ListOptions{})
		got = append(got, string(apierrors.ReasonForError(err)))
	}
	if want := "InternalError,InternalError,Expired,"; strings.Join(got, ",") != want {
		t.Errorf("got %v, want %s", got, want)
	}
	for range 3 {
		if _, err := lw.Watch(ctx, metav1.ListOptions{}); !apierrors.IsForbidden(err) {
			t.Errorf("got %v, want Forbidden", err)
		}
	}
	lw.ClearFaults()
	mustWatch(t, lw, metav1.ListOptions{})
	verbs := ""
	for _, r := range lw.Requests() {
		verbs += r.Verb[:1]
	}
	if verbs != "llllwwww" {
		t.Errorf("got requests %s, want llllwwww", verbs)
	}
}

func TestErrorsHaveTheirStatus(t *testing.T) {
	seconds, ok := apierrors.SuggestsClientDelay(fake.TooManyRequests(7))
	if !ok || seconds != 7 || !apierrors.IsTooManyRequests(fake.TooManyRequests(0)) {
		t.Errorf("429: got Retry-After %d, %v, want 7", seconds, ok)
	}
	if err := fake.TooLargeResourceVersion(); !apierrors.IsTimeout(err) || !apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge) {
		t.Errorf("504: got %v, want the cause ResourceVersionTooLarge", err)
	}
	if got := describe(fake.ErrorEvent(fmt.Errorf("wrapped: %w", fake.Expired()))); got != "ERROR 410 Expired" {
		t.Errorf("got %s", got)
	}
	if got := describe(fake.ErrorEvent(errors.New("plain"))); got != "ERROR 500 InternalError" {
		t.Errorf("got %s", got)
	}
}

func TestDelayAndHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lw := threePods()
		lw.InjectListFault(3, fake.Fault{Delay: time.Minute})
		start := time.Now()
		mustList(t, lw, metav1.ListOptions{})
		if elapsed := time.Since(start); elapsed != time.Minute {
			t.Errorf("list with a delay of 1m took %v", elapsed)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := lw.List(ctx, metav1.ListOptions{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("delayed list with a deadline: got %v, want DeadlineExceeded", err)
		}
		five := int64(5)
		if _, err := lw.List(t.Context(), metav1.ListOptions{TimeoutSeconds: &five}); !apierrors.IsTimeout(err) {
			t.Errorf("list delayed beyond its TimeoutSeconds: got %v, want a timeout", err)
		}
		if elapsed := time.Since(start); elapsed != time.Minute+6*time.Second {
			t.Errorf("three lists took %v, want 1m6s", elapsed)
		}

		release := make(chan struct{})
		lw.InjectWatchFault(1, fake.Fault{Hold: release})
		opened := make(chan watch.Interface, 1)
		go func() {
			w, err := lw.Watch(t.Context(), metav1.ListOptions{ResourceVersion: "4"})
			if err != nil {
				t.Error(err)
			}
			opened <- w
		}()
		synctest.Wait()
		if len(opened) != 0 {
			t.Fatal("Watch returned before Hold was closed")
		}
		close(release)
		(<-opened).Stop()
		requests := lw.Requests()
		if !requests[0].Time.Equal(start) || requests[3].Time.Sub(start) != time.Minute+6*time.Second {
			t.Errorf("requests do not have times of the bubble's clock: %v", requests)
		}
	})
}

func TestListFaults(t *testing.T) {
	lw := threePods()
	lw.InjectListFault(1, fake.Fault{ResourceVersion: "3"})
	list, items := mustList(t, lw, metav1.ListOptions{ResourceVersion: "4"})
	expectItems(t, items, "a@2", "b@3")
	if got := versionOf(t, list); got != "3" {
		t.Errorf("replica's list is at version %s, want 3", got)
	}
	lw.InjectListFault(1, fake.Fault{EditList: func(list runtime.Object) runtime.Object {
		list.(*corev1.PodList).ResourceVersion = ""
		return list
	}})
	if list, _ := mustList(t, lw, metav1.ListOptions{}); versionOf(t, list) != "" {
		t.Error("EditList had no effect")
	}
	if list, _ := mustList(t, lw, metav1.ListOptions{}); versionOf(t, list) != "4" {
		t.Error("EditList changed the collection")
	}
}

func TestWatchOfALaggingReplica(t *testing.T) {
	lw := threePods()
	lw.InjectWatchFault(1, fake.Fault{ResourceVersion: "3"})
	w := mustWatch(t, lw, metav1.ListOptions{})
	lw.Create(pod("d"))
	expectEvents(t, w, "ADDED a@2", "ADDED b@3")
}

func TestWatchFaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lw := threePods()
		opts := metav1.ListOptions{ResourceVersion: "2"}
		open := func(f fake.Fault) watch.Interface {
			lw.InjectWatchFault(1, f)
			return mustWatch(t, lw, opts)
		}
		expectEnd(t, open(fake.Fault{CloseAfterEvents: -1}))
		expectEnd(t, open(fake.Fault{CloseAfterEvents: 1}), "ADDED b@3")
		timed := open(fake.Fault{CloseIn: time.Second})
		expectEvents(t, timed, "ADDED b@3", "ADDED c@4")
		time.Sleep(time.Second)
		synctest.Wait()
		expectEnd(t, timed)

		ctx, cancel := context.WithCancel(t.Context())
		lw.InjectWatchFault(1, fake.Fault{Stall: true})
		ten := int64(10)
		silent, err := lw.Watch(ctx, metav1.ListOptions{ResourceVersion: "2", TimeoutSeconds: &ten})
		must(t, err)
		time.Sleep(time.Hour)
		lw.Update(pod("a"))
		lw.Bookmark()
		lw.Send(fake.ErrorEvent(fake.Expired()))
		lw.CloseWatches()
		synctest.Wait()
		expectEvents(t, silent)
		cancel()
		synctest.Wait()
		expectEnd(t, silent)

		twice := open(fake.Fault{EditEvent: func(e watch.Event) []watch.Event { return []watch.Event{e, e} }})
		expectEvents(t, twice, "ADDED b@3", "ADDED b@3", "ADDED c@4", "ADDED c@4", "MODIFIED a@5", "MODIFIED a@5")
		opts = metav1.ListOptions{SendInitialEvents: &yes, AllowWatchBookmarks: true, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan}
		noEnd := open(fake.Fault{EditEvent: fake.DropInitialEventsEndBookmark})
		lw.Bookmark()
		expectEvents(t, noEnd, "ADDED a@5", "ADDED b@3", "ADDED c@4", "BOOKMARK @5")
	})
}

func TestSendDeliversToOpenWatches(t *testing.T) {
	lw := threePods()
	w := mustWatch(t, lw, metav1.ListOptions{ResourceVersion: "4"})
	lw.Update(pod("a"))
	lw.Send(watch.Event{Type: watch.Modified, Object: &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}})
	lw.Update(pod("a"))
	lw.Send(fake.ErrorEvent(fake.InternalError()))
	expectEvents(t, w, "MODIFIED a@5", "MODIFIED n@", "MODIFIED a@6", "ERROR 500 InternalError")
	lw.Send(watch.Event{Type: watch.Added})
	if e := <-w.ResultChan(); e.Object != nil {
		t.Errorf("got object %v, want none", e.Object)
	}
	if _, ok := lw.Get("n"); ok {
		t.Error("Send changed the collection")
	}
}

func TestSendComesAfterTheBacklogOfASlowReader(t *testing.T) {
	lw := fake.NewListerWatcher(&corev1.Pod{})
	lw.Create(pod("a"))
	w := mustWatch(t, lw, metav1.ListOptions{ResourceVersion: "1"})
	for range 149 {
		lw.Update(pod("a"))
	}
	lw.Send(fake.ErrorEvent(fake.InternalError()))
	lw.Update(pod("a"))
	for version := 2; version < 152; version++ {
		if got := describe(<-w.ResultChan()); !strings.HasSuffix(got, fmt.Sprint(" a@", version)) {
			t.Fatalf("got %s, want version %d", got, version)
		}
	}
	for _, want := range []string{"ERROR 500 InternalError", "MODIFIED a@152"} {
		if got := describe(<-w.ResultChan()); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestRestoreUndoesWrites(t *testing.T) {
	lw := threePods()
	w := mustWatch(t, lw, metav1.ListOptions{ResourceVersion: "4"})
	lw.Update(pod("a")) // 5
	lw.Delete("ns/b")   // 6
	lw.Create(pod("d")) // 7
	lw.Restore("4")
	expectEnd(t, w, "MODIFIED a@5", "DELETED b@6", "ADDED d@7")
	_, items := mustList(t, lw, metav1.ListOptions{})
	expectItems(t, items, "a@2", "b@3", "c@4")
	if got := lw.Create(pod("e")).ResourceVersion; got != "5" {
		t.Errorf("first write after Restore got version %s, want 5", got)
	}
	ahead := mustWatch(t, lw, metav1.ListOptions{ResourceVersion: "7", AllowWatchBookmarks: true})
	lw.Bookmark()
	expectEvents(t, ahead, "BOOKMARK @5")
	lw.Compact()
	for _, version := range []string{"4", "99", "x"} {
		expectPanic(t, "resourceVersion", func() { lw.Restore(version) })
	}
}

func TestWritesSetMetadata(t *testing.T) {
	lw := fake.NewListerWatcher(&corev1.Pod{})
	a := lw.Create(pod("a"))
	if a.UID == "" || a.ResourceVersion != "2" || a.CreationTimestamp.IsZero() || a.CreationTimestamp.Nanosecond() != 0 {
		t.Errorf("Create: got %+v", a.ObjectMeta)
	}
	updated := lw.Update(pod("a", label("app", "x")))
	if updated.UID != a.UID || updated.ResourceVersion != "3" || !updated.CreationTimestamp.Equal(&a.CreationTimestamp) {
		t.Errorf("Update: got %+v", updated.ObjectMeta)
	}
	if deleted := lw.Delete("ns/a"); deleted.UID != a.UID || deleted.ResourceVersion != "4" || deleted.Labels["app"] != "x" {
		t.Errorf("Delete: got %+v", deleted.ObjectMeta)
	}
	if recreated := lw.Create(pod("a")); recreated.UID == a.UID {
		t.Error("recreated object has the UID of the deleted one")
	}
	unnamed := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: "g-"}}
	one, two := lw.Create(unnamed), lw.Create(unnamed)
	if one.Name == two.Name || !strings.HasPrefix(one.Name, "g-") {
		t.Errorf("generateName: got names %q and %q", one.Name, two.Name)
	}
	expectPanic(t, `create "ns/a": already exists`, func() { lw.Create(pod("a")) })
	expectPanic(t, `update "ns/x": not found`, func() { lw.Update(pod("x")) })
	expectPanic(t, `delete "ns/x": not found`, func() { lw.Delete("ns/x") })
	expectPanic(t, "create *v1.Pod: no name", func() { lw.Create(pod("")) })
	if _, ok := lw.Get("ns/x"); ok {
		t.Error("Get found an object that does not exist")
	}
}

func expectPanic(t *testing.T, want string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if got := fmt.Sprint(recover()); !strings.HasPrefix(got, "fake.ListerWatcher: ") || !strings.Contains(got, want) {
			t.Errorf("got panic %q, want one with %q", got, want)
		}
	}()
	f()
}
