// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package debugpage

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/chromedp/chromedp"
	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/debug"
	"github.com/kinformer/kinformer/fake"
)

// TestManyInformers shows 500 healthy informers: all are in the document, which has at most 5,000
// elements, and the table's head stays in sight.
func TestManyInformers(t *testing.T) {
	browser := startBrowser(t)
	s := &scene{t: t, clock: &lateClock{}}
	for n := range 500 {
		informer := add(s, fake.NewListerWatcher(&corev1.Pod{}), &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{Name: fmt.Sprint("pods of cluster ", n)}, "endpoints", "quota")
		s.must(informer.WaitForSync(t.Context()))
	}
	server := httptest.NewServer(http.StripPrefix("/debug/informers", debug.Handler(debug.Options{}, &s.group)))
	t.Cleanup(server.Close)
	tb := browser.newTab(t)
	tb.do(chromedp.Navigate(server.URL + prefix))
	rows, elements := eval[int](tb, `document.querySelectorAll("#informer-rows tr").length`), eval[int](tb, `document.querySelectorAll("*").length`)
	bytes := eval[int](tb, `performance.getEntriesByType("navigation")[0].decodedBodySize`)
	sent := eval[int](tb, `performance.getEntriesByType("navigation")[0].encodedBodySize`)
	t.Logf("%d bytes, compressed %d, %d elements, %d pixels high", bytes, sent, elements, eval[int](tb, "document.documentElement.scrollHeight"))
	if rows != 500 || elements > 5_000 || bytes > 150_000 || sent > bytes/5 {
		t.Errorf("got %d rows, %d elements, %d bytes, compressed %d", rows, elements, bytes, sent)
	}
	if top := eval[float64](tb, `scrollTo(0, 5000), document.querySelector("thead th").getBoundingClientRect().top`); top != 0 {
		t.Errorf("the head is at %v pixels", top)
	}
	tb.expectQuiet(server)
}
