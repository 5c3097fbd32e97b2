// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinformer/kinformer/cache"
)

func labelled(name, uid, version, label string) string {
	return strings.Replace(strings.Replace(widgetText(name, version), "uid-"+name, uid, 1), `"metadata":{`, fmt.Sprintf(`"metadata":{"labels":{"l":%q},`, label), 1)
}

// In an unordered collection, a recreated object of a scope is stored, whatever the version of the
// one before.
func TestRecreatedObjectOfAnUnorderedScopeIsStored(t *testing.T) {
	for _, version := range []string{"", "opaque"} {
		for _, selector := range []string{"l=a", "l=b"} { // of the recreated object
			t.Run(version+" "+selector, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := &scripted{list: func(query string) string {
						if strings.Contains(query, "labelSelector=l%3Da") {
							return listText(version, labelled("x", "u1", "1001", "a"))
						}
						return listText(version)
					}}
					informer, stop := widgetInformer(t, s, widgetOptions{Scopes: cache.NewScopes(cache.Scope{LabelSelector: "l=a"}, cache.Scope{LabelSelector: "l=b"})})
					defer stop()
					deleted := eventText("DELETED", labelled("x", "u1", "1002", "a"))
					if selector == "l=a" {
						s.sendTo("l=a", deleted)
					}
					s.sendTo(selector, eventText("ADDED", labelled("x", "u2", "7", selector[2:])))
					if selector == "l=b" {
						s.sendTo("l=a", deleted)
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
