// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"net/url"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// oddWidgets are values in place of a Widget. Those whose key can be read are ns/odd.
func oddWidgets() map[string]struct {
	text  string
	named bool
} {
	type odd = struct {
		text  string
		named bool
	}
	return map[string]odd{
		"null":                     {"null", false},
		"a number":                 {"7", false},
		"a string":                 {`"ns/odd"`, false},
		"an array":                 {"[]", false},
		"another kind":             {`{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"ns","name":"odd","resourceVersion":"11"}}`, false},
		"another version":          {`{"apiVersion":"example.com/v2","kind":"Widget","metadata":{"namespace":"ns","name":"odd","resourceVersion":"11"}}`, false},
		"metadata a string":        {`{"apiVersion":"example.com/v1","kind":"Widget","metadata":"ns/odd"}`, false},
		"name a number":            {`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"namespace":"ns","name":5,"resourceVersion":"11"}}`, false},
		"namespace an array":       {`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"namespace":[],"name":"odd","resourceVersion":"11"}}`, false},
		"a long name":              {widgetText(strings.Repeat("n", 5000), "11"), false},
		"a long version":           {`{"apiVersion":"example.com/v1","kind":{},"metadata":{"namespace":"ns","name":"odd","resourceVersion":"` + strings.Repeat("1", 10_000) + `"}}`, true},
		"uid a number":             {`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"namespace":"ns","name":"odd","uid":5,"resourceVersion":"11"}}`, true},
		"resourceVersion a number": {`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"namespace":"ns","name":"odd","uid":"u","resourceVersion":11}}`, true},
		"kind an object":           {`{"apiVersion":"example.com/v1","kind":{},"metadata":{"namespace":"ns","name":"odd","uid":"u","resourceVersion":"11"}}`, true},
		"apiVersion a number":      {`{"apiVersion":1,"kind":"Widget","metadata":{"namespace":"ns","name":"odd","uid":"u","resourceVersion":"11"}}`, true},
	}
}

// widgetOptions are the options of an informer of Widgets.
type widgetOptions = cache.InformerOptions[*unstructured.Unstructured]

// widgetInformer runs an informer of a server's Widgets, perhaps with options.
func widgetInformer(t *testing.T, s *scripted, options ...widgetOptions) (informer *cache.SharedInformer[*unstructured.Unstructured], stop func()) {
	t.Helper()
	with := widgetOptions{}
	if len(options) > 0 {
		with = options[0]
	}
	with.Logger = logr.Discard()
	informer = cache.NewSharedInformer(cache.ListWatchOf(s.client()), ofKind("example.com/v1", "Widget"), with)
	return informer, runInformer(t, informer)
}

// A list with an item that cannot be read is stored, and a watch with such an event goes on. The
// item is quarantined, under its key if that can be read. The next list follows that watch, however
// often lists have found the item unreadable before.
func TestOddEnvelopeCostsThatObjectOnly(t *testing.T) {
	for name, odd := range oddWidgets() {
		for _, eventType := range []string{"ADDED", "MODIFIED", "DELETED", "PATCHED"} {
			if eventType == "PATCHED" && !odd.named {
				continue // with neither a known type nor an object, it is no event
			}
			t.Run(name+", "+eventType, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := &scripted{list: func(string) string { return listText("10", odd.text, widgetText("good", "9")) }}
					informer, stop := widgetInformer(t, s)
					defer stop()
					expectContents(t, informer, "good@9", odd.named, 0)
					for range 5 { // the lists become rare
						s.endWatch()
						<-time.After(time.Minute)
					}
					before := s.sent()
					s.list = func(string) string { return listText("12", odd.text, widgetText("good", "12")) }
					s.send(eventText(eventType, odd.text), eventText("MODIFIED", widgetText("good", "12")))
					expectContents(t, informer, "good@12", odd.named, 1)
					s.endWatch()
					<-time.After(time.Minute)
					if got := strings.TrimPrefix(s.sent(), before); got != " list@12 watch@12" {
						t.Errorf("requests%s", got)
					}
					s.list = func(string) string { return listText("13", widgetText("good", "12")) }
					s.send(eventText(eventType, odd.text))
					s.endWatch()
					<-time.After(time.Minute)
					if status := informer.Status(); status.Store.Quarantined+status.Store.Unnamed != 0 || status.Store.Objects != 1 {
						t.Errorf("quarantined %v, %d unnamed, %d objects; requests %s", status.Store.QuarantinedKeys, status.Store.Unnamed, status.Store.Objects, s.sent())
					}
				})
			})
		}
	}
}

// expectContents checks that one object is stored, as "name@version", and another one is
// quarantined: ns/odd if named is true. So many events could not be read.
func expectContents(t *testing.T, informer *cache.SharedInformer[*unstructured.Unstructured], want string, named bool, events int) {
	t.Helper()
	synctest.Wait()
	var stored []string
	for _, obj := range informer.Store().List() {
		stored = append(stored, obj.GetName()+"@"+obj.GetResourceVersion())
	}
	status := informer.Status()
	if !status.Synced || strings.Join(stored, " ") != want {
		t.Fatalf("synced %v, %v, want %s; error %v", status.Synced, stored, want, status.Err)
	}
	switch keys := status.Store.QuarantinedKeys; {
	case named && (len(keys) != 1 || keys[0].Key != "ns/odd" || status.Store.Unnamed != events):
		t.Errorf("quarantined %v, %d unnamed, want ns/odd and %d", keys, status.Store.Unnamed, events)
	case !named && (len(keys) != 0 || status.Store.Unnamed != 1+events):
		t.Errorf("quarantined %v, %d unnamed, want %d", keys, status.Store.Unnamed, 1+events)
	}
}

// An item that cannot be identified may be any object that the list lacks. These stay, until a list
// has no such item. One without a name is none of them.
func TestListWithUnidentifiedItemDeletesNothing(t *testing.T) {
	for name, odd := range oddWidgets() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &scripted{list: func(string) string { return listText("10", widgetText("a", "8"), widgetText("b", "9")) }}
				informer, stop := widgetInformer(t, s)
				defer stop()
				relist := func(version string, items ...string) string {
					s.list = func(string) string { return listText(version, items...) }
					s.send(expiredText)
					<-time.After(time.Minute)
					return strings.Join(informer.Store().ListKeys(), " ")
				}
				want := "ns/a ns/b"
				if odd.named {
					want = "ns/a"
				}
				if got := relist("20", widgetText("a", "8"), odd.text); got != want {
					t.Errorf("stored %s, want %s", got, want)
				}
				if got := relist("30", widgetText("a", "8"), `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"uid":"u"}}`); got != "ns/a" {
					t.Errorf("stored %s after a list with an object without a name, want ns/a", got)
				}
			})
		})
	}
}

// A list of which no item has the collection's kind is not one of the collection.
func TestListOfAnotherKindIsRefused(t *testing.T) {
	for name, items := range map[string]string{
		"one":         `{"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"name":"g"}}`,
		"two":         `{"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"name":"g"}},{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"}}`,
		"and a null":  `null,{"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"name":"g"}}`,
		"another API": `{"apiVersion":"example.org/v1","kind":"Widget","metadata":{"name":"w"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &scripted{list: func(string) string { return listText("10", items) }}
				informer, stop := widgetInformer(t, s)
				defer stop()
				<-time.After(time.Minute)
				if status := informer.Status(); status.Synced || status.Err == nil || !strings.Contains(status.Err.Error(), "wrong kind") {
					t.Errorf("synced %v, error %v", status.Synced, status.Err)
				}
			})
		})
	}
}

// An event that could be read before, and cannot be when it is repeated, is recognized by its
// version. One without a version proves nothing, and a list follows.
func TestUnreadableRepetitionIsRecognizedByItsVersion(t *testing.T) {
	for name, c := range map[string]struct {
		repeated string
		want     string // the requests from the resumed watch on
	}{
		"the same version": {`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"namespace":"ns","name":"a","uid":5,"resourceVersion":"11"}}`, " watch@10 watch@10"},
		"no version":       {"null", " watch@10 list@12 watch@12"},
		"another version":  {`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"namespace":"ns","name":"a","uid":5,"resourceVersion":"12"}}`, " watch@10 list@ watch@12"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &scripted{list: func(string) string { return listText("10", widgetText("a", "9")) }}
				informer, stop := widgetInformer(t, s)
				defer stop()
				s.send(eventText("MODIFIED", widgetText("a", "11")), eventText("ADDED", widgetText("b", "12")))
				s.list = func(string) string { return listText("12", widgetText("a", "11"), widgetText("b", "12")) }
				before := s.sent()
				s.endWatch()
				<-time.After(3 * time.Second)
				s.send(eventText("MODIFIED", c.repeated))
				if name != "another version" {
					s.send(eventText("ADDED", widgetText("b", "12")))
					s.endWatch()
				}
				<-time.After(3 * time.Second)
				if got := strings.TrimPrefix(s.sent(), before); got != c.want {
					t.Errorf("requests%s, want%s", got, c.want)
				}
				if got := strings.Join(informer.Store().ListKeys(), " "); got != "ns/a ns/b" || informer.Status().Err != nil {
					t.Errorf("stored %s, error %v", got, informer.Status().Err)
				}
			})
		})
	}
}

// An event that cannot be read costs no other object anything: the watch goes on. The object's last
// good state stays, and as it may be a deletion that was missed, a list follows that watch.
func TestUnreadableEventIsPassedOver(t *testing.T) {
	for name, event := range map[string]watch.Event{
		"another kind":             {Type: watch.Added, Object: &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", ResourceVersion: "5"}}},
		"a Table":                  {Type: watch.Added, Object: &metav1.Table{}},
		"no metadata":              {Type: watch.Modified, Object: &corev1.Pod{}},
		"no name":                  {Type: watch.Added, Object: cachetest.Pod("", cachetest.WithVersion("5"))},
		"no name, a past version":  {Type: watch.Deleted, Object: cachetest.Pod("", cachetest.WithVersion("3"))},
		"no name, an odd version":  {Type: watch.Modified, Object: cachetest.Pod("", cachetest.WithVersion("abc"))},
		"a long name":              {Type: watch.Added, Object: cachetest.Pod(strings.Repeat("n", 5000), cachetest.WithVersion("5"))},
		"no object":                {Type: watch.Deleted},
		"a nil object":             {Type: watch.Modified, Object: (*corev1.Pod)(nil)},
		"an unknown type":          {Type: "PATCHED", Object: cachetest.Pod("b", cachetest.WithVersion("5"))},
		"an unknown type, no name": {Type: "PATCHED", Object: &corev1.Pod{}},
	} {
		t.Run(name, func(t *testing.T) {
			cachetest.InBubble(t, func(h *cachetest.Harness) {
				h.ExpectSynced()
				h.SkipVersions(1)
				send(h, event)
				h.Update(cachetest.Pod("a"))
				cachetest.Advance(2 * time.Second)
				h.ExpectRequests(0, "list@0 watch@4")
				h.ExpectEvents("U a@2→6")
				if errs := h.TakeErrors(); len(errs) != 1 || quarantined(h) != 1 {
					t.Errorf("errors %v, %d objects quarantined, want one of each", errs, quarantined(h))
				}
				h.ExpectStored("a@6 b@3 c@4")
				h.CloseWatches()
				cachetest.Advance(time.Minute)
				h.ExpectRequests(2, "list@6 watch@6")
				if n := quarantined(h); n != 0 {
					t.Errorf("%d objects quarantined after the list", n)
				}
				h.ExpectStored("a@6 b@3 c@4")
				h.ExpectEvents()
			})
		})
	}
}

func quarantined(h *cachetest.Harness) int {
	status := h.Controller.Status()
	return status.Store.Quarantined + status.Store.Unnamed
}

// A bookmark without a version brings nothing.
func TestUnreadableBookmarkIsPassedOver(t *testing.T) {
	for name, bookmark := range map[string]watch.Event{
		"nil":        {Type: watch.Bookmark, Object: (*corev1.Pod)(nil)},
		"empty":      {Type: watch.Bookmark},
		"no version": {Type: watch.Bookmark, Object: &corev1.Pod{}},
	} {
		t.Run(name, func(t *testing.T) {
			cachetest.InBubble(t, func(h *cachetest.Harness) {
				h.ExpectSynced()
				send(h, bookmark)
				h.Update(cachetest.Pod("a"))
				h.ExpectRequests(0, "list@0 watch@4")
				h.ExpectEvents("U a@2→5")
				h.ExpectNoError()
			})
		})
	}
}

// A page may have one item, of another kind. The list is stored.
func TestPageOfAnotherKindIsPartOfAList(t *testing.T) {
	const gadget = `{"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"name":"g"}}`
	for name, items := range map[string][]string{
		"the first": {gadget, widgetText("a", "8")},
		"the last":  {widgetText("a", "8"), gadget},
		"a middle":  {widgetText("a", "8"), gadget, widgetText("b", "9")},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &scripted{list: func(query string) string {
					values, _ := url.ParseQuery(query)
					n, _ := strconv.Atoi(values.Get("continue"))
					if n+1 == len(items) {
						return page("", items[n])
					}
					return page(strconv.Itoa(n+1), items[n])
				}}
				informer, stop := widgetInformer(t, s)
				defer stop()
				synctest.Wait()
				if status := informer.Status(); !status.Synced || status.Store.Objects != len(items)-1 || status.Store.Unnamed != 1 {
					t.Errorf("synced %v, %d objects, %d unnamed, error %v; requests %s", status.Synced, status.Store.Objects, status.Store.Unnamed, status.Err, s.sent())
				}
			})
		})
	}
}

// A deletion among the initial events of a WatchList that cannot be read is followed by the next
// one, however rare the lists have become for a quarantined object.
func TestUnreadableInitialDeletionIsFollowedByAList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const odd = `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"namespace":"ns","name":"odd","uid":5,"resourceVersion":"7"}}`
		s := &scripted{list: func(string) string { return listText("10") }}
		informer, stop := widgetInformer(t, s, widgetOptions{WatchList: true})
		defer stop()
		initial := func(events ...string) {
			s.send(append(events, bookmarkText("10", endAnnotation))...)
		}
		end := func() string {
			<-time.After(2 * time.Minute)
			before := len(s.sent())
			s.endWatch()
			<-time.After(3 * time.Second)
			return s.sent()[before:]
		}
		a, b := eventText("ADDED", widgetText("a", "8")), eventText("ADDED", widgetText("b", "9"))
		initial(a, b, eventText("ADDED", odd))
		for i := range 5 { // after the first, second and fourth watch
			if got := end(); (got == " watch@10+") != (i == 0 || i == 1 || i == 3) {
				t.Errorf("requests%s after watch %d", got, i)
			} else if got == " watch@10+" {
				initial(a, b, eventText("ADDED", odd))
			}
		}
		s.send(expiredText)
		<-time.After(3 * time.Second)
		initial(a, b, eventText("ADDED", odd), eventText("DELETED", "null"))
		if got := end(); got != " watch@10+" {
			t.Errorf("requests%s after an initial deletion that cannot be read", got)
		}
		initial(a, eventText("ADDED", odd))
		if got := strings.Join(informer.Store().ListKeys(), " "); got != "ns/a" {
			t.Errorf("stored %s", got)
		}
	})
}
