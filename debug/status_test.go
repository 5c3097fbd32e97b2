// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package debug

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// TestFailingInformer shows an informer whose lists fail, and its recovery.
func TestFailingInformer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failing, server := pods("pods")
		server.InjectListFault(-1, fake.Fault{Err: errForbidden})
		handler, run := Handler(Options{}, failing), failing.Run
		read := func() informer { return getJSON[overview](t, handler, "/informers.json").Informers[0] }
		if idle := read(); idle.Phase != "Idle" || idle.StalenessSeconds != nil || idle.Kind != "Pod" || idle.FailedAttempts != 0 {
			t.Errorf("before Run: %+v", idle)
		}
		expect(t, get(t, handler, "/informers.json"), `"relists": {}`)
		start(t, run)
		cachetest.Advance(2 * time.Minute)
		shown := read()
		if shown.Phase != "Retrying" || shown.Synced || shown.FailedAttempts < 2 || !shown.ErrorSince.Equal(time.Now().Add(-2*time.Minute)) {
			t.Errorf("failing: %+v", shown)
		}
		const cause = "pods is forbidden: not allowed"
		expect(t, shown.Error, cause)
		expect(t, get(t, handler, "/"), "Needs attention", "(for 2 min, ", cause, "never", `<td class="error">Retrying, not synced</td>`)
		expect(t, get(t, handler, page("informer", shown.ID, "")), "headline error", "(for 2 min, ", cause)

		server.ClearFaults()
		cachetest.Advance(time.Minute)
		if ok := read(); ok.Phase != "Watching" || !ok.Synced || ok.Error != "" || ok.StalenessSeconds == nil || !ok.ErrorSince.IsZero() {
			t.Errorf("after recovery: %+v", ok)
		}
		expectNot(t, get(t, handler, "/"), "Needs attention", cause)
	})
}

var errForbidden = apierrors.NewForbidden(corev1.Resource("pods"), "", errors.New("not allowed"))

// TestEqualTroublesAreOne shows one error of 13 informers, whose rows are the first ones, and
// filters the rows.
func TestEqualTroublesAreOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var group cache.Group
		for n := range 39 {
			informer, server := pods(fmt.Sprint("pods-", n))
			if n%3 == 2 {
				server.InjectListFault(-1, fake.Fault{Err: errForbidden})
			}
			group.Add(informer)
			start(t, informer.Run)
			cachetest.Advance(time.Second) // they fail at different times, and differently often
		}
		cachetest.Advance(time.Minute)
		handler := Handler(Options{}, &group)
		text := get(t, handler, "/")
		expect(t, text, `13 informers: <bdi class="cause">list: pods is forbidden: not allowed</bdi> <span class="none">(for up to 1 min 37 s, `)
		if boxes, last, first := strings.Count(text, `<li class="error">`), strings.LastIndex(text, `<td class="error">`), strings.Index(text, `<td class="ok">`); boxes != 1 || last > first {
			t.Errorf("got %d boxes, the last failing row at %d, the first healthy one at %d", boxes, last, first)
		}
		text = get(t, handler, "/?filter=PODS-3")
		expect(t, text, "Informers, 10 of 39", `value="PODS-3"`, "13 informers: ", ">pods-38<")
		expectNot(t, text, ">pods-4<")
		expect(t, get(t, handler, "/?filter=forbidden"), "Informers, 13 of 39")
		expect(t, get(t, handler, "/?filter=none"), "There are no informers that contain the text.")
	})
}

// TestOutageIsOneTrouble shows two informers whose requests do not reach the server.
func TestOutageIsOneTrouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var group cache.Group
		for _, path := range []string{"/api/v1/pods?limit=1", "/apis/apps/v1/deployments?watch=true"} {
			informer, server := pods(path)
			server.InjectListFault(-1, fake.Fault{Err: &url.Error{Op: "Get", URL: "https://10.0.0.1:6443" + path, Err: errors.New("dial tcp: refused")}})
			group.Add(informer)
			start(t, informer.Run)
		}
		cachetest.Advance(time.Second)
		expect(t, get(t, Handler(Options{}, &group), "/"), `2 informers: <bdi class="cause">list: dial tcp: refused (Get &#34;https://10.0.0.1:6443&#34;)</bdi>`)
	})
}

// TestStaleInformer shows an informer whose watch has brought nothing for longer than a server is
// silent.
func TestStaleInformer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		informer, server := pods("pods")
		server.InjectWatchFault(-1, fake.Fault{Stall: true})
		run(t, informer)
		handler := Handler(Options{}, informer)
		cachetest.Advance(5*time.Minute - time.Second)
		expect(t, get(t, handler, "/"), "4 min 59 s ago")
		expectNot(t, get(t, handler, "/"), "Needs attention")
		cachetest.Advance(time.Second)
		expect(t, get(t, handler, "/"), "Needs attention", "not confirmed up to date", "(for 5 min)", `<td class="warning">Watching, 1 warning<`)
		if age := getJSON[overview](t, handler, "/informers.json").Informers[0].StalenessSeconds; *age != 300 {
			t.Errorf("got age %v, want 300", *age)
		}
	})
}

// TestBlockedHandler shows the backlog of a handler that blocks and the key of its call, and the
// handler of the same name that does not block.
func TestBlockedHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		informer, server := pods("pods")
		release := make(chan struct{})
		for _, block := range []bool{true, false} {
			if _, err := informer.AddEventHandler(cache.EventHandlerFunc[*corev1.Pod](func(cache.Event[*corev1.Pod]) {
				if block {
					<-release
				}
			}), cache.HandlerOptions{Name: "audit"}); err != nil {
				t.Fatal(err)
			}
		}
		run(t, informer)
		for n := range 40 {
			server.Create(pod(fmt.Sprint("web-", n)))
		}
		cachetest.Advance(30 * time.Second)
		handler := Handler(Options{}, informer)
		all := getJSON[overview](t, handler, "/informers.json").Informers[0].Handlers
		blocked, other := all[0], all[1]
		if blocked.Backlog != 40 || blocked.OldestPendingSeconds < 30 || blocked.UniqueName != "audit" || blocked.Calls != 0 ||
			blocked.CurrentKey != "ns/web-0" || blocked.CurrentSeconds != 30 {
			t.Errorf("blocked: %+v", blocked)
		}
		if other.Backlog != 0 || other.UniqueName != "audit#2" || other.Calls != 40 || other.Name != "audit" || other.CurrentKey != "" {
			t.Errorf("other: %+v", other)
		}
		expect(t, get(t, handler, "/"), `handler audit: the call for &#34;ns/web-0&#34; has not returned</bdi> <span class="none">(for 30 s, 40 events)`)
		expectNot(t, get(t, handler, "/"), "audit#2", "behind")
		expect(t, get(t, handler, page("informer", informer.Views()[0].ID(), "")), `<td class="n late">40</td>`, `<bdi>audit#2</bdi>`)
		close(release)
		synctest.Wait()
		expectNot(t, get(t, handler, "/"), "Needs attention")
	})
}

// TestSlowHandler shows a handler that is behind, and each of whose calls returns.
func TestSlowHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		informer, server := pods("pods")
		if _, err := informer.AddEventHandler(cache.EventHandlerFunc[*corev1.Pod](func(cache.Event[*corev1.Pod]) {
			<-time.After(6 * time.Second)
		}), cache.HandlerOptions{Name: "audit"}); err != nil {
			t.Fatal(err)
		}
		run(t, informer)
		for n := range 4 {
			server.Create(pod(fmt.Sprint("web-", n)))
		}
		handler := Handler(Options{}, informer)
		for range 10 {
			expectNot(t, get(t, handler, "/"), "has not returned")
			cachetest.Advance(2 * time.Second)
		}
		expect(t, get(t, handler, "/"), "handler audit is behind", "(for 20 s, ")
	})
}

// TestRelistsAndEvents shows a relist with its reason, requests by code, and the plot of the
// events.
func TestRelistsAndEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		informer, server := pods("pods")
		run(t, informer)
		for n := range 24 {
			server.Create(pod(fmt.Sprint("web-", n)))
			cachetest.Advance(5 * time.Second)
		}
		server.Compact()
		server.InjectWatchFault(2, fake.Fault{Err: apierrors.NewResourceExpired("too old")})
		server.CloseWatches()
		cachetest.Advance(20 * time.Second)
		handler := Handler(Options{}, informer)
		shown := getJSON[overview](t, handler, "/informers.json").Informers[0]
		if shown.Relists["Expired"] != 1 || len(shown.RecentEvents) != 60 || shown.RecentEventsIntervalSeconds != 5 {
			t.Errorf("got %+v", shown)
		}
		if want := (request{"WATCH", "410", 2}); !slices.Contains(shown.Requests, want) {
			t.Errorf("got requests %v, want %v among them", shown.Requests, want)
		}
		// One event in each interval of five seconds, but for the last 20 seconds of the minute.
		if shown.EventsPerSecond < 0.1 || shown.EventsPerSecond > 0.2 {
			t.Errorf("got %v events per second", shown.EventsPerSecond)
		}
		expect(t, get(t, handler, "/"), "<td>1 Expired</td>", `<td data-plot="▁▁▁▁▁▁▇████▁">0.1</td>`)
		expect(t, get(t, handler, page("informer", shown.ID, "")), `<th scope="row">Expired</th><td class="n">1</td>`, "at most 0.2 in five seconds",
			`role="img" aria-label="events in the last 4 min 55 s: 0.1 per second now, at most 0.2"`, "2 lists, 4 watches</dd>",
			`<th scope="row">WATCH</th><td>410</td><td class="n">2</td>`)
	})
}

// TestQuarantinedKeys shows keys whose objects cannot be stored, with their causes.
func TestQuarantinedKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := fake.NewListerWatcher(&corev1.Pod{})
		server.Create(pod("good"))
		server.Create(pod("bad"))
		informer := cache.NewSharedInformer(server, &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{Transform: func(pod *corev1.Pod) (*corev1.Pod, error) {
			if pod.Name == "bad" {
				return nil, errors.New("no such node pool")
			}
			return pod, nil
		}})
		run(t, informer)
		handler := Handler(withObjects, informer)
		id := informer.Views()[0].ID()
		shown := getJSON[detail](t, handler, page("informer.json", id, ""))
		if shown.Quarantined != 1 || len(shown.QuarantinedKeys) != 1 || shown.QuarantinedKeys[0].Key != "ns/bad" || shown.Objects != 1 {
			t.Errorf("got %+v", shown)
		}
		expect(t, shown.QuarantinedKeys[0].Error, "no such node pool")
		expect(t, get(t, handler, page("informer", id, "")), "Quarantined keys", "<bdi>ns/bad</bdi>", "no such node pool")
		expect(t, get(t, handler, "/"), "no such node pool", "(1 object)")
		expect(t, fails(t, handler, page("object", id, "ns/bad"), 404), "no such node pool")
	})
}

// TestInvalidInformer shows why an informer cannot run.
func TestInvalidInformer(t *testing.T) {
	informer := cache.NewSharedInformer(nil, &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{})
	handler := Handler(Options{}, informer)
	shown := getJSON[overview](t, handler, "/informers.json").Informers[0]
	if shown.Phase != "Invalid" || shown.Error == "" {
		t.Fatalf("got %+v", shown)
	}
	expect(t, get(t, handler, "/"), "Needs attention", "the ListerWatcher is nil", `<td class="error">Invalid<`)
	get(t, handler, page("informer", shown.ID, ""))
}

// TestInitialList shows an informer before and after its first list.
func TestInitialList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		informer, server := pods("pods")
		hold := make(chan struct{})
		server.InjectListFault(1, fake.Fault{Hold: hold})
		start(t, informer.Run)
		synctest.Wait()
		handler := Handler(Options{}, informer)
		expect(t, get(t, handler, "/"), `<td class="busy">Listing, not synced<`)
		close(hold)
		synctest.Wait()
		expect(t, get(t, handler, "/"), `<td class="ok">Watching<`, "<title>Informers</title>", "1 informer, 1 Watching · 0 objects")
	})
}

// TestStoppedInformers shows an informer that has stopped, unless it is one of a group, which
// forgets it.
func TestStoppedInformers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		informer, _ := pods("pods")
		var group cache.Group
		group.Add(informer)
		stop := start(t, informer.Run)
		synctest.Wait()
		id := page("informer", informer.Views()[0].ID(), "")
		for _, shown := range []cache.Viewable{informer, &group} {
			get(t, Handler(Options{}, shown), id)
		}
		stop()
		get(t, Handler(Options{}, informer), id)
		expect(t, get(t, Handler(Options{}, informer), "/"), `<td class="off">Stopped`)
		expect(t, fails(t, Handler(Options{}, &group), id, 404), "It may have stopped")
		expect(t, get(t, Handler(Options{}, &group), "/"), "There are no informers.")
	})
}

// TestInformersAreShownOnce gives an informer to the handler twice, in the order of their making.
func TestInformersAreShownOnce(t *testing.T) {
	first, _ := pods("same")
	second, _ := pods("same")
	var group cache.Group
	group.Add(second, first)
	all := getJSON[overview](t, Handler(Options{}, second, &group, first), "/", "Accept: application/json").Informers
	if len(all) != 2 || all[0].ID >= all[1].ID || all[0].Name != "same" || all[1].Name != "same" || all[0].UniqueName == all[1].UniqueName {
		t.Errorf("got %+v", all)
	}
}

// forbidding refuses to list the last of the namespaces.
type forbidding struct {
	*fake.ListerWatcher[*corev1.Pod]
}

func (f forbidding) List(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	if options.FieldSelector == "metadata.namespace=ns-119" {
		return nil, errForbidden
	}
	return f.ListerWatcher.List(ctx, options)
}

// TestScopes shows an informer with more scopes than a page has room for, one of which cannot be
// listed.
func TestScopes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := cache.NewScopes()
		for n := range 120 {
			if err := all.Add(cache.Scope{Namespace: fmt.Sprintf("ns-%03d", n), LabelSelector: "app"}); err != nil {
				t.Fatal(err)
			}
		}
		server := fake.NewListerWatcher(&corev1.Pod{})
		informer := cache.NewSharedInformer(forbidding{server}, &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{Scopes: all})
		start(t, informer.Run)
		cachetest.Advance(time.Minute)
		handler := Handler(Options{}, informer)
		id := informer.Views()[0].ID()
		html := get(t, handler, page("informer", id, ""))
		expect(t, html, "Scopes, 100 of 120, failing ones first", "Retrying, not synced", "<td>Watching</td>", "not allowed", "namespace &#34;ns-098&#34;")
		expectNot(t, html, "ns-099")
		if strings.Index(html, "ns-119") > strings.Index(html, "ns-000") {
			t.Error("the scope with an error is not the first one")
		}
		read := getJSON[detail](t, handler, page("informer.json", id, ""))
		if len(read.Scopes) != 100 || read.ScopeCount != 120 || read.Scopes[0].Phase != "Retrying" || read.Scopes[1].Error != "" {
			t.Errorf("JSON: %+v", read)
		}
	})
}

// TestHashRangesAreOneRow shows ranges of hashes, which were added in another order.
func TestHashRangesAreOneRow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slots := cache.NewScopes()
		for _, slot := range []uint64{12, 3, 2, 0} {
			if err := slots.Add(cache.Scope{Namespace: "ns", Hash: cache.HashRange{Field: cache.HashUID, First: slot << 59, Last: slot<<59 + (1<<59 - 1)}}); err != nil {
				t.Fatal(err)
			}
		}
		server := fake.NewListerWatcher(&corev1.Pod{})
		for n := range 100 {
			server.Create(pod(fmt.Sprint("web-", n)))
		}
		informer := cache.NewSharedInformer(server, &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{Scopes: slots})
		run(t, informer)
		shown := getJSON[detail](t, Handler(Options{}, informer), page("informer.json", informer.Views()[0].ID(), ""))
		if all := shown.Scopes; len(all) != 1 || all[0].Scope != `hashes 0000000000000000 to 07ffffffffffffff, 1000000000000000 to 1fffffffffffffff, 6000000000000000 to 67ffffffffffffff by uid, namespace "ns"` || all[0].Objects != shown.Objects || shown.Objects == 0 {
			t.Errorf("got %+v of %d objects", all, shown.Objects)
		}
	})
}
