// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinformer/kinformer/cache"
)

// widgetOf returns a widget with a UID.
func widgetOf(name, uid, version string) string {
	return strings.Replace(widgetText(name, version), "uid-"+name, uid, 1)
}

// uidsOf returns two UIDs that are in a range of hashes, or are not.
func uidsOf(hashes cache.HashRange, inside bool) (uids []string) {
	for n := 0; len(uids) < 2; n++ {
		uid := fmt.Sprintf("%d-uid", n)
		hash := fnv.New64a()
		_, _ = hash.Write([]byte(uid))
		if in := hashes.First <= hash.Sum64() && hash.Sum64() <= hashes.Last; in == inside {
			uids = append(uids, uid)
		}
	}
	return uids
}

// In an unordered collection, a recreated object is stored, whatever the version of the one before:
// also if it is in another scope, whose watch shows it before the other one shows the deletion.
func TestRecreatedObjectOfAnUnorderedScopeIsStored(t *testing.T) {
	const byNamespace = "metadata.namespace=ns" // the field selector of the first scope; the second one has none
	lower := cache.HashRange{Field: cache.HashUID, Last: 1<<63 - 1}
	upper := cache.HashRange{Field: cache.HashUID, First: 1 << 63, Last: math.MaxUint64}
	own, others := uidsOf(lower, true), uidsOf(lower, false)
	for _, version := range []string{"", "opaque"} {
		for _, inOther := range []bool{false, true} {
			t.Run(fmt.Sprintf("version %q, in another scope %v", version, inOther), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := &scripted{watch: "fieldSelector", list: func(query string) string {
						if strings.Contains(query, "fieldSelector") {
							return listText(version, widgetOf("x", own[0], "1001"))
						}
						return listText(version)
					}}
					scopes := cache.NewScopes(cache.Scope{Namespace: "ns", Hash: lower}, cache.Scope{Hash: upper})
					informer, stop := widgetInformer(t, s, widgetOptions{Scopes: scopes})
					defer stop()
					deleted := eventText("DELETED", widgetOf("x", own[0], "1002"))
					if inOther {
						s.send(eventText("ADDED", widgetOf("x", others[0], "7")))
						s.sendTo(byNamespace, deleted)
					} else {
						s.sendTo(byNamespace, deleted, eventText("ADDED", widgetOf("x", own[1], "7")))
					}
					if got := describeAll(informer.Store().List()); got != "x@7=<nil>" {
						t.Errorf("stored %q", got)
					}
				})
			})
		}
	}
}

// An event of an unordered collection that another scope has, or the filter fails for, does not
// bring a version of the collection.
func TestUnorderedEventBringsNoVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{list: func(string) string { return listText("opaque", widgetText("a", "8")) }}
		informer, stop := widgetInformer(t, s, widgetOptions{
			Scopes: cache.NewScopes(cache.Scope{Hash: cache.HashRange{Field: cache.HashUID, Last: 1 << 63}}),
			Filter: func(u *unstructured.Unstructured) bool {
				if u.GetName() == "bad" {
					panic("bad")
				}
				return true
			},
		})
		defer stop()
		for i := range 20 {
			s.send(eventText("ADDED", strings.ReplaceAll(widgetText("bad", fmt.Sprint(1000+i)), "uid-bad", fmt.Sprint("uid-", i))))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := informer.WaitForResourceVersion(ctx, "1000"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the collection has reached 1000: %v", err)
		}
		if got := informer.Store().Snapshot().ResourceVersion(); got != "opaque" {
			t.Errorf("at version %q", got)
		}
	})
}

// Watches of ranges of hashes are not joined in an unordered collection: no version is the lowest.
func TestUnorderedStreamsAreNotJoined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{list: func(string) string { return listText("opaque", widgetText("a", "8")) }}
		scopes := cache.NewScopes(cache.Scope{Hash: cache.HashRange{Field: cache.HashUID, Last: 1 << 63}})
		informer, stop := widgetInformer(t, s, widgetOptions{Scopes: scopes})
		defer stop()
		<-time.After(time.Second)
		if err := scopes.Add(cache.Scope{Hash: cache.HashRange{Field: cache.HashUID, First: 1<<63 + 1, Last: math.MaxUint64}}); err != nil {
			t.Fatal(err)
		}
		<-time.After(4 * time.Minute)
		if got := strings.Count(s.sent(), "watch"); got != 2 || informer.Status().Err != nil {
			t.Errorf("requests %s, error %v", s.sent(), informer.Status().Err)
		}
	})
}
