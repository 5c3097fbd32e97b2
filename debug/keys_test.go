// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package debug

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/kinformer/cache"
)

// TestSearchForKeys finds keys by a part of them, at most 200, and says how many there are.
func TestSearchForKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		informer, server := pods("pods")
		for n := range 1001 {
			server.Create(pod(fmt.Sprintf("web-%04d", n)))
		}
		run(t, informer)
		handler, id := Handler(Options{}, informer), informer.Views()[0].ID()
		search := func(query string) *keyList {
			return getJSON[detail](t, handler, page("informer.json", id, "")+query).Keys
		}
		if got := search(""); got != nil {
			t.Errorf("%d keys without a search, of many", len(got.Keys))
		}
		if got := search("&find="); got == nil || got.Found != 1001 || len(got.Keys) != 200 || got.Keys[0] != "ns/web-0000" || !slices.IsSorted(got.Keys) {
			t.Errorf("all: got %+v", got)
		}
		if got := search("&find=-042"); got == nil || got.Found != 10 || len(got.Keys) != 10 || got.Keys[9] != "ns/web-0429" || got.Find != "-042" {
			t.Errorf("some: got %+v", got)
		}
		if got := search("&find=db"); got == nil || got.Found != 0 || got.Keys == nil {
			t.Errorf("none: got %+v", got)
		}
		text := get(t, handler, page("informer", id, "")+"&find=web")
		expect(t, text, "The first 200 of 1,001 found", `value="web"`, "<bdi>ns/web-0000</bdi>")
		expectNot(t, text, "ns/web-0200", "object?", "Scopes")

		server.Delete("ns/web-0000") // 1,000 are few
		synctest.Wait()
		expect(t, get(t, handler, page("informer", id, "")), "The first 200 of 1,000 found")
	})
}

// TestKeysLinkToObjects only where objects are shown.
func TestKeysLinkToObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		informer, server := pods("pods")
		server.Create(pod("web"))
		run(t, informer)
		handler, id := Handler(withObjects, informer), informer.Views()[0].ID()
		expect(t, get(t, handler, page("informer", id, "")), fmt.Sprintf(`href="object?id=%d&amp;key=ns%%2fweb"`, id))
		text := get(t, handler, page("object", id, "ns%2Fweb"))
		expect(t, text, "node-7", "<title>ns/web – "+informer.Views()[0].UniqueName()+" – Informers</title>")
		if got := getJSON[corev1.Pod](t, handler, page("object.json", id, "ns%2Fweb")); got.Spec.NodeName != "node-7" {
			t.Errorf("got %+v", got)
		}
		without := fails(t, Handler(Options{}, informer), page("object", id, "ns%2Fweb"), 403)
		expectNot(t, without, "node-7")
	})
}

// TestIndexes shows the indexes with the number of their values, and one whose function fails.
func TestIndexes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, server := pods("")
		for n := range 5 {
			server.Create(pod(fmt.Sprint("web-", n)))
		}
		informer := cache.NewSharedInformer(server, &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{Indexers: cache.Indexers[*corev1.Pod]{
			"last": cache.ByObject(func(pod *corev1.Pod) ([]string, error) {
				if pod.Name == "web-4" {
					return nil, errors.New("no number")
				}
				return []string{strings.TrimLeft(pod.Name, "web-")}, nil
			}),
			cache.NamespaceIndex: cache.ByMetadata[*corev1.Pod](cache.MetaNamespaceIndexFunc),
		}})
		run(t, informer)
		handler, id := Handler(Options{}, informer), informer.Views()[0].ID()
		got := getJSON[detail](t, handler, page("informer.json", id, "")).Indexes
		if want := []index{{"last", 4, 1}, {"namespace", 1, 0}}; !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
		expect(t, get(t, handler, page("informer", id, "")), `<bdi>namespace</bdi></th><td class="n">1</td>`, `<td class="n late">1</td>`)
		expect(t, get(t, handler, "/"), "the function of index &#34;last&#34; failed", "(1 failure)", "Watching, 1 warning")
		if all := getJSON[overview](t, handler, "/informers.json"); all.Informers[0].IndexErrors["last"] != 1 {
			t.Errorf("got the index errors %v", all.Informers[0].IndexErrors)
		}
	})
}
