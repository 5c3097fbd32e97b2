// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"fmt"
	"net/url"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinformer/kinformer/cache"
)

// page is a page of a list of Widgets. next is the token of the page that follows, empty if none
// does.
func page(next, item string) string {
	return fmt.Sprintf(`{"apiVersion":"example.com/v1","kind":"WidgetList","metadata":{"resourceVersion":"10","continue":%q},"items":[%s]}`, next, item)
}

// A list may have pages without items, in any number and anywhere. It is stored, and the rate of
// its requests is limited.
func TestEmptyPagesDoNotEndList(t *testing.T) {
	for name, pages := range map[string][]int{ // numbers of empty pages before each object, and after the last
		"at the beginning":            {20, 0},
		"at the end":                  {0, 20},
		"between":                     {0, 20, 0},
		"everywhere":                  {50, 50, 50, 50},
		"as many as are free":         {100, 100},
		"so many that they are paced": {150, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var items []string // of each page
				objects := 0
				for i, empty := range pages {
					items = append(items, make([]string, empty)...)
					if i < len(pages)-1 {
						objects++
						items = append(items, fmt.Sprintf(`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w%d","uid":"%d","resourceVersion":"9"}}`, objects, objects))
					}
				}
				var at []time.Time
				s := &scripted{list: func(query string) string {
					values, _ := url.ParseQuery(query)
					if values.Get("limit") == "1" {
						return page("", "")
					}
					at = append(at, time.Now())
					n, _ := strconv.Atoi(values.Get("continue"))
					next := ""
					if n+1 < len(items) {
						next = strconv.Itoa(n + 1)
					}
					return page(next, items[n])
				}}
				informer := cache.NewSharedInformer(cache.ListWatchOf(s.client()), ofKind("example.com/v1", "Widget"), cache.InformerOptions[*unstructured.Unstructured]{Logger: logr.Discard()})
				stop := runInformer(t, informer)
				defer stop()
				<-time.After(10 * time.Minute)
				if status := informer.Status(); !status.Synced || status.Store.Objects != objects || status.Requests.Lists > 2+uint64(len(items)) {
					t.Errorf("synced %v, %d objects, %d requests for %d pages, %v", status.Synced, status.Store.Objects, status.Requests.Lists, len(items), status.Err)
				}
				if took := at[len(at)-1].Sub(at[0]); (took > time.Second) != (name == "so many that they are paced") {
					t.Errorf("the list took %v", took)
				}
			})
		})
	}
}
