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

func TestFaultsComeInTurn(t *testing.T) {
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
		t.Errorf("got requests %s", verbs)
	}
}

func TestErrors(t *testing.T) {
	seconds, ok := apierrors.SuggestsClientDelay(fake.TooManyRequests(7))
	if !ok || seconds != 7 || !apierrors.IsTooManyRequests(fake.TooManyRequests(0)) {
		t.Errorf("429: got a delay of %d, %v", seconds, ok)
	}
	if err := fake.TooLargeResourceVersion(); !apierrors.IsTimeout(err) || !apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge) {
		t.Errorf("504: got %v", err)
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
		if took := time.Since(start); took != time.Minute {
			t.Errorf("a list delayed by a minute took %v", took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := lw.List(ctx, metav1.ListOptions{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		five := int64(5)
		if _, err := lw.List(t.Context(), metav1.ListOptions{TimeoutSeconds: &five}); !apierrors.IsTimeout(err) {
			t.Errorf("a list delayed beyond its TimeoutSeconds: got %v", err)
		}
		if took := time.Since(start); took != time.Minute+6*time.Second {
			t.Errorf("the three took %v", took)
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
			t.Fatal("a held watch was opened")
		}
		close(release)
		(<-opened).Stop()
		times := lw.Requests()
		if !times[0].Time.Equal(start) || times[3].Time.Sub(start) != time.Minute+6*time.Second {
			t.Errorf("requests are not dated on the bubble's clock: %v", times)
		}
	})
}

func TestListFaults(t *testing.T) {
	lw := threePods()
	lw.InjectListFault(1, fake.Fault{ResourceVersion: "3"})
	list, items := mustList(t, lw, metav1.ListOptions{ResourceVersion: "4"})
	expectItems(t, items, "a@2", "b@3")
	if got := versionOf(t, list); got != "3" {
		t.Errorf("the lagging replica's list is at %s", got)
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

func TestWatchFaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lw := threePods()
		at := metav1.ListOptions{ResourceVersion: "2"}
		open := func(f fake.Fault) watch.Interface {
			lw.InjectWatchFault(1, f)
			return mustWatch(t, lw, at)
		}
		expectEnd(t, open(fake.Fault{CloseAfterEvents: -1}))
		expectEnd(t, open(fake.Fault{CloseAfterEvents: 1}), "ADDED b@3")
		soon := open(fake.Fault{CloseIn: time.Second})
		expectEvents(t, soon, "ADDED b@3", "ADDED c@4")
		time.Sleep(time.Second)
		synctest.Wait()
		expectEnd(t, soon)

		ctx, cancel := context.WithCancel(t.Context())
		lw.InjectWatchFault(1, fake.Fault{Stall: true})
		ten := int64(10)
		silent, err := lw.Watch(ctx, metav1.ListOptions{ResourceVersion: "2", TimeoutSeconds: &ten})
		if err != nil {
			t.Fatal(err)
		}
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
		at = metav1.ListOptions{SendInitialEvents: &yes, AllowWatchBookmarks: true, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan}
		endless := open(fake.Fault{EditEvent: fake.DropInitialEventsEndBookmark})
		lw.Bookmark()
		expectEvents(t, endless, "ADDED a@5", "ADDED b@3", "ADDED c@4", "BOOKMARK @5")
	})
}

func TestSend(t *testing.T) {
	lw := threePods()
	w := mustWatch(t, lw, metav1.ListOptions{ResourceVersion: "4"})
	lw.Update(pod("a"))
	lw.Send(watch.Event{Type: watch.Modified, Object: &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}})
	lw.Update(pod("a"))
	lw.Send(fake.ErrorEvent(fake.InternalError()))
	expectEvents(t, w, "MODIFIED a@5", "MODIFIED n@", "MODIFIED a@6", "ERROR 500 InternalError")
	lw.Send(watch.Event{Type: watch.Added})
	if e := <-w.ResultChan(); e.Object != nil {
		t.Errorf("got %v", e)
	}
	if _, ok := lw.Get("n"); ok {
		t.Error("Send has changed the collection")
	}
}

func TestSendComesAfterWhatASlowReaderHasStillToGet(t *testing.T) {
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

func TestRestore(t *testing.T) {
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
		t.Errorf("the first version after the restore is %s, want 5", got)
	}
	ahead := mustWatch(t, lw, metav1.ListOptions{ResourceVersion: "7", AllowWatchBookmarks: true})
	lw.Bookmark()
	expectEvents(t, ahead, "BOOKMARK @5")
	lw.Compact()
	for _, version := range []string{"4", "99", "x"} {
		expectPanic(t, func() { lw.Restore(version) })
	}
}

func TestWrites(t *testing.T) {
	lw := fake.NewListerWatcher(&corev1.Pod{})
	a := lw.Create(pod("a"))
	if a.UID == "" || a.ResourceVersion != "2" || a.CreationTimestamp.IsZero() || a.CreationTimestamp.Nanosecond() != 0 {
		t.Errorf("got %+v", a.ObjectMeta)
	}
	b := lw.Update(pod("a", label("app", "x")))
	if b.UID != a.UID || b.ResourceVersion != "3" || !b.CreationTimestamp.Equal(&a.CreationTimestamp) {
		t.Errorf("got %+v", b.ObjectMeta)
	}
	if gone := lw.Delete("ns/a"); gone.UID != a.UID || gone.ResourceVersion != "4" || gone.Labels["app"] != "x" {
		t.Errorf("got %+v", gone.ObjectMeta)
	}
	if again := lw.Create(pod("a")); again.UID == a.UID {
		t.Error("an object created again has the UID of the old one")
	}
	one, two := lw.Create(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: "g-"}}), lw.Create(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: "g-"}})
	if one.Name == two.Name || !strings.HasPrefix(one.Name, "g-") {
		t.Errorf("got the names %q and %q", one.Name, two.Name)
	}
	expectPanic(t, func() { lw.Create(pod("a")) })
	expectPanic(t, func() { lw.Update(pod("x")) })
	expectPanic(t, func() { lw.Delete("ns/x") })
	expectPanic(t, func() { lw.Create(pod("")) })
	if _, ok := lw.Get("ns/x"); ok {
		t.Error("Get found what does not exist")
	}
}

func expectPanic(t *testing.T, f func()) {
	t.Helper()
	defer func() {
		if p := recover(); p == nil || !strings.HasPrefix(fmt.Sprint(p), "fake.ListerWatcher: cannot") && !strings.Contains(fmt.Sprint(p), "resourceVersion") {
			t.Errorf("got panic %v", p)
		}
	}()
	f()
}
