// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	clientcache "k8s.io/client-go/tools/cache"

	"github.com/kinformer/kinformer/cache"
)

// unorderedShapes are collections as public APIs have them: their own versions are missing, or no
// numbers, and so may be those of their objects.
var unorderedShapes = map[string]struct {
	list   string
	events []string // the versions of events of the objects a, b, c, a, b, c, ...
}{
	"metrics.k8s.io":                        {"", []string{"", "", "", ""}},
	"versions of objects alone":             {"", []string{"1000", "100", "1001", "1002", "101", "1003"}},
	"a proxy of clusters, base64":           {"eyJjMSI6IjEwMDAiLCJjMiI6IjEwMCJ9", []string{"eyJjMSI6IjEwMDEiLCJjMiI6IjEwMCJ9", "eyJjMSI6IjEwMDEiLCJjMiI6IjEwMSJ9", "eyJjMSI6IjEwMDIiLCJjMiI6IjEwMSJ9"}},
	"a proxy of clusters, their own":        {"c1:1000,c2:100", []string{"1001", "101", "1002", "1003", "102"}},
	"a proxy of many clusters":              {strings.Repeat("cluster:123456789,", 150), []string{"1001", "101", "1002"}},
	"objects without versions":              {"opaque", []string{"", "", ""}},
	"a revision of a store that is no etcd": {"rev-7", []string{"rev-8", "rev-9", "rev-10"}},
}

// An informer of a collection without an order of versions syncs and applies each event at once, as
// client-go does.
func TestUnorderedCollectionIsFollowed(t *testing.T) {
	for name, shape := range unorderedShapes {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				versions := map[string]string{"a": "", "b": "", "c": ""}
				if name != "metrics.k8s.io" && name != "objects without versions" {
					versions = map[string]string{"a": "900", "b": "90", "c": "901"}
				}
				items := func() (items []string) {
					for _, key := range []string{"a", "b", "c"} {
						items = append(items, widgetText(key, versions[key]))
					}
					return items
				}
				s := &scripted{list: func(string) string { return listText(shape.list, items()...) }}
				ours, stop := widgetInformer(t, s)
				defer stop()
				theirServer := &scripted{list: s.list}
				theirs, stopTheirs := clientGoInformer(t, theirServer)
				defer stopTheirs()
				synctest.Wait()
				expect := func(when string) {
					t.Helper()
					synctest.Wait()
					got, want := describeAll(ours.Store().List()), describeAll(theirs())
					if got != want || !ours.Status().Synced {
						t.Fatalf("%s: %s, client-go has %s; synced %v, error %v; requests %s", when, got, want, ours.Status().Synced, ours.Status().Err, s.sent())
					}
				}
				expect("listed")
				for i, version := range shape.events {
					key := []string{"a", "b", "c"}[i%3]
					versions[key] = version
					event := eventText("MODIFIED", strings.Replace(widgetText(key, version), `"kind":"Widget"`, fmt.Sprintf(`"kind":"Widget","spec":{"n":%d}`, i), 1))
					s.send(event)
					theirServer.send(event)
					expect(fmt.Sprint("event ", i))
				}
				s.send(eventText("DELETED", widgetText("b", versions["b"])))
				theirServer.send(eventText("DELETED", widgetText("b", versions["b"])))
				expect("deleted")
				if got := strings.Count(s.sent(), "list@"); got > 2 { // the first may be a probe
					t.Errorf("requests %s", s.sent())
				}
			})
		})
	}
}

// describeAll returns objects with their versions and specs, in order.
func describeAll[T any](objects []T) string {
	var all []string
	for _, obj := range objects {
		u := any(obj).(*unstructured.Unstructured)
		n, _, _ := unstructured.NestedFieldNoCopy(u.Object, "spec", "n")
		all = append(all, fmt.Sprint(u.GetName(), "@", u.GetResourceVersion(), "=", n))
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// withoutWatchList declares, as client-go's fakes do, that it does not support WatchList.
type withoutWatchList struct{ *clientcache.ListWatch }

func (withoutWatchList) IsWatchListSemanticsUnSupported() bool { return true }

// clientGoInformer runs an informer of client-go.
func clientGoInformer(t *testing.T, s *scripted) (list func() []any, stop func()) {
	t.Helper()
	client := s.client()
	lw := &clientcache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return client.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return client.Watch(ctx, options)
		},
	}
	informer := clientcache.NewSharedIndexInformer(withoutWatchList{lw}, &unstructured.Unstructured{}, 0, nil)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		informer.RunWithContext(ctx)
	}()
	return func() []any { return informer.GetStore().List() }, func() {
		cancel()
		<-done
		<-time.After(time.Minute)
	}
}

// In an unordered collection, a state of an object that is older than the stored one is dropped,
// and one of another object under its key is not.
func TestUnorderedEventIsComparedWithItsObjectAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{list: func(string) string {
			return listText("c1:1000,c2:100", widgetText("a", "1000"), widgetText("b", "100"))
		}}
		informer, stop := widgetInformer(t, s)
		defer stop()
		s.send(eventText("MODIFIED", widgetText("a", "999")), eventText("MODIFIED", widgetText("b", "101")))
		recreated := strings.Replace(widgetText("a", "7"), "uid-a", "uid-other", 1)
		if got := describeAll(informer.Store().List()); got != "a@1000=<nil> b@101=<nil>" {
			t.Errorf("stored %s", got)
		}
		s.send(eventText("ADDED", recreated))
		if got := describeAll(informer.Store().List()); got != "a@7=<nil> b@101=<nil>" || informer.Status().Err != nil {
			t.Errorf("stored %s, error %v", got, informer.Status().Err)
		}
		if got := informer.Status().Freshness.ResourceVersion; got != "c1:1000,c2:100" {
			t.Errorf("resourceVersion %s", got)
		}
	})
}

// Once a list with a number is stored, versions are compared again.
func TestListWithANumberOrdersTheCollection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		version := "opaque"
		s := &scripted{list: func(string) string { return listText(version, widgetText("a", "8")) }}
		informer, stop := widgetInformer(t, s)
		defer stop()
		s.send(eventText("MODIFIED", widgetText("a", "9")))
		version = "20"
		s.send(expiredText)
		<-time.After(time.Minute)
		s.send(eventText("MODIFIED", widgetText("a", "21")))
		version = "opaque"
		s.send(expiredText)
		<-time.After(time.Minute)
		if status := informer.Status(); status.Freshness.ResourceVersion != "21" || status.Err == nil || !strings.Contains(status.Err.Error(), "no valid resourceVersion") {
			t.Errorf("resourceVersion %s, error %v", status.Freshness.ResourceVersion, status.Err)
		}
	})
}

// One version may have several changes: those of a transaction, or of a server that is no etcd.
func TestVersionWithSeveralChangesIsApplied(t *testing.T) {
	for name, scopes := range map[string]*cache.Scopes{"all objects": nil, "a scope": cache.NewScopes(cache.Scope{Namespace: "ns"})} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &scripted{list: func(string) string {
					return listText("10", widgetText("a", "8"), widgetText("b", "9"), widgetText("c", "10"))
				}}
				informer, stop := widgetInformer(t, s, widgetOptions{Scopes: scopes})
				defer stop()
				synctest.Wait()
				before := s.sent()
				s.send(
					eventText("MODIFIED", widgetText("a", "11")), eventText("MODIFIED", widgetText("b", "11")), eventText("ADDED", widgetText("d", "11")),
					eventText("DELETED", widgetText("c", "11")), eventText("MODIFIED", widgetText("a", "12")))
				<-time.After(3 * time.Second)
				if got := describeAll(informer.Store().List()); got != "a@12=<nil> b@11=<nil> d@11=<nil>" || s.sent() != before {
					t.Errorf("stored %s; requests %s; %v", got, strings.TrimPrefix(s.sent(), before), informer.Status().Err)
				}
			})
		})
	}
}

// A version has one change of an object: a repetition of an update whose deletion has its version
// (kubernetes/kubernetes#58545) does not bring the object back.
func TestVersionHasOneChangeOfAnObject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{list: func(string) string { return listText("11", widgetText("b", "9")) }}
		informer, stop := widgetInformer(t, s)
		defer stop()
		s.send(eventText("ADDED", widgetText("a", "12")), eventText("DELETED", widgetText("a", "12")), eventText("MODIFIED", widgetText("a", "12")))
		if got := describeAll(informer.Store().List()); got != "b@9=<nil>" || informer.Status().Err == nil {
			t.Errorf("stored %s; error %v", got, informer.Status().Err)
		}
	})
}

// In an unordered collection, equal versions of an object, or none, prove nothing: contents decide,
// of events and of lists.
func TestUnorderedStatesAreComparedByContents(t *testing.T) {
	changed := func(text string, n int) string {
		return strings.Replace(text, `"kind":"Widget"`, fmt.Sprintf(`"kind":"Widget","spec":{"n":%d}`, n), 1)
	}
	for _, version := range []string{"", "0", "5", "x"} {
		for _, packed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%q, packed %v", version, packed), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					n := 0
					s := &scripted{list: func(string) string { return listText("opaque", changed(widgetText("a", version), n)) }}
					informer := cache.NewSharedInformer(cache.ListWatchOf(s.client()), ofKind("example.com/v1", "Widget"),
						cache.InformerOptions[*unstructured.Unstructured]{Logger: logr.Discard(), Packed: packed})
					var events []string
					_, err := informer.AddEventHandler(cache.EventHandlerFunc[*unstructured.Unstructured](func(event cache.Event[*unstructured.Unstructured]) {
						events = append(events, string(event.Type))
					}), cache.HandlerOptions{})
					if err != nil {
						t.Fatal(err)
					}
					defer runInformer(t, informer)()
					expect := func(when, contents, delivered string) {
						t.Helper()
						synctest.Wait()
						if got := describeAll(informer.Store().List()); got != "a@"+version+"="+contents || strings.Join(events, " ") != delivered {
							t.Errorf("%s: stored %s; events %v, want %s", when, got, events, delivered)
						}
					}
					s.send(eventText("MODIFIED", changed(widgetText("a", version), 0)))
					expect("repeated", "0", "Add")
					s.send(eventText("MODIFIED", changed(widgetText("a", version), 1)))
					expect("changed", "1", "Add Update")
					n = 1
					list := func() {
						s.send(expiredText)
						<-time.After(time.Minute)
					}
					list()
					expect("listed", "1", "Add Update")
					n = 2
					list()
					expect("listed with a change", "2", "Add Update Update")
				})
			})
		}
	}
}

// A store of the program receives an object that takes the place of another one, whatever its
// version.
func TestStoreOfAnUnorderedCollectionReceivesRecreatedObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{list: func(string) string { return listText("opaque", widgetText("a", "1000")) }}
		store := cache.NewStore(cache.MetaNamespaceKeyFunc[*unstructured.Unstructured], nil)
		r := cache.NewReflector(cache.ListWatchOf(s.client()), ofKind("example.com/v1", "Widget"), store, cache.ReflectorOptions{Logger: logr.Discard()})
		defer runInformer(t, r)()
		recreated := strings.Replace(widgetText("a", "7"), "uid-a", "uid-other", 1)
		s.send(eventText("ADDED", recreated))
		if got := describeAll(store.List()); got != "a@7=<nil>" {
			t.Errorf("stored %s", got)
		}
		s.send(eventText("DELETED", strings.Replace(recreated, `"7"`, `"8"`, 1)))
		if got := describeAll(store.List()); got != "" {
			t.Errorf("stored %s", got)
		}
	})
}

// An initial state at a lower number than a bookmark of an unordered collection is of a replica
// that lags. It is refused, and a list follows.
func TestUnorderedCollectionDoesNotGoBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{list: func(string) string { return listText("21", widgetText("a", "8"), widgetText("b", "19")) }}
		informer, stop := widgetInformer(t, s, widgetOptions{WatchList: true})
		defer stop()
		s.send(eventText("ADDED", widgetText("a", "8")), bookmarkText("", endAnnotation), eventText("ADDED", widgetText("b", "19")), bookmarkText("20", ""))
		if got := informer.Status().Freshness.ResourceVersion; got != "20" {
			t.Fatalf("at version %q, want 20", got)
		}
		s.send(expiredText)
		<-time.After(time.Minute)
		s.send(eventText("ADDED", widgetText("a", "8")), bookmarkText("15", endAnnotation))
		<-time.After(time.Minute)
		if got := describeAll(informer.Store().List()); got != "a@8=<nil> b@19=<nil>" || informer.Status().Freshness.ResourceVersion != "21" {
			t.Errorf("stored %s at %s; requests %s", got, informer.Status().Freshness.ResourceVersion, s.sent())
		}
	})
}

// A change of a version that cannot be stored does not hide the others.
func TestVersionWithAnObjectThatIsNotStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{list: func(string) string {
			return listText("10", widgetText("a", "8"), widgetText("b", "9"), widgetText("c", "10"))
		}}
		informer, stop := widgetInformer(t, s, widgetOptions{Transform: func(u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
			if u.GetName() == "b" && u.GetResourceVersion() == "11" {
				return nil, errors.New("not stored")
			}
			return u, nil
		}})
		defer stop()
		before := s.sent()
		s.send(eventText("MODIFIED", widgetText("a", "11")), eventText("MODIFIED", widgetText("b", "11")), eventText("MODIFIED", widgetText("c", "11")))
		if got := describeAll(informer.Store().List()); got != "a@11=<nil> b@9=<nil> c@11=<nil>" || s.sent() != before {
			t.Errorf("stored %s; requests %s", got, strings.TrimPrefix(s.sent(), before))
		}
	})
}
