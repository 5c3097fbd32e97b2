// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// The API server has the versions of the last minutes for lists, while the window of versions for
// watches may be much shorter: a list at exactly a version that has expired for watches is an old
// state.

// TestRelistInPagesIsNotOfTheExpiredVersion expires the version reached for watches alone. The list
// that follows in pages must have the changes since, also of an informer without a PageSize whose
// earlier list came in pages.
func TestRelistInPagesIsNotOfTheExpiredVersion(t *testing.T) {
	inPages := func(h *cachetest.Harness) {
		for i := range 501 {
			h.Create(cachetest.Pod(fmt.Sprintf("p%d", i)))
		}
		h.InjectListFault(1, fake.Fault{Err: fake.Expired()}) // a consistent read follows, in pages
	}
	for name, c := range map[string]struct {
		options cache.ReflectorOptions
		before  func(*cachetest.Harness)
	}{
		"PageSize":                              {cache.ReflectorOptions{PageSize: 2}, func(*cachetest.Harness) {}},
		"default, an earlier list was in pages": {cache.ReflectorOptions{}, inPages},
	} {
		t.Run(name, func(t *testing.T) {
			cachetest.InBubbleWithOptions(t, c.options, func(h *cachetest.Harness) {
				cachetest.Advance(time.Minute)
				h.InjectWatchFault(-1, fake.Fault{Err: fake.Expired()})
				h.CloseWatches()
				h.Update(cachetest.Pod("a"))
				h.Delete("ns/b")
				cachetest.Advance(30 * time.Second)
				h.ExpectStored(h.Served())
			}, c.before)
		})
	}
}

// TestServerThatRefusesResourceVersionMatchIsListedInOnePiece checks that the list follows at once,
// and that later ones do not ask for pages. The most recent state is listed in pages all the same.
func TestServerThatRefusesResourceVersionMatchIsListedInOnePiece(t *testing.T) {
	for name, refusal := range map[string]error{
		"400": apierrors.NewBadRequest("unknown parameter"),
		"422": apierrors.NewInvalid(schema.GroupKind{Kind: "ListOptions"}, "", nil),
	} {
		t.Run(name, func(t *testing.T) {
			between, _ := editLists(func(options metav1.ListOptions, _ metav1.ListInterface) error {
				if options.ResourceVersionMatch != "" {
					return refusal
				}
				return nil
			})
			cachetest.InBubbleWithOptions(t, cache.ReflectorOptions{PageSize: 2}, func(h *cachetest.Harness) {
				cachetest.Advance(time.Minute)
				n := len(h.Requests())
				h.Expire()
				h.Update(cachetest.Pod("a"))
				cachetest.Advance(time.Second)
				n = h.ExpectRequests(n, "list@4 list@4 watch@5")
				if whole := h.Requests()[n-2].Options; whole.Limit != 0 || whole.ResourceVersionMatch != "" {
					t.Errorf("the second list has the options %+v, want a version only", whole)
				}
				h.ExpectStored(h.Served())
				if errs := h.TakeErrors(); len(errs) != 1 {
					t.Errorf("reported %v, want the watch's error only", errs)
				}
				cachetest.Advance(10 * time.Minute)
				_, n = h.RequestsSince(0)
				h.InjectListFault(1, fake.Fault{Err: fake.Expired()})
				h.Expire()
				cachetest.Advance(5 * time.Second)
				requests, _ := h.RequestsSince(n)
				if want := "list@5 list@ list@... watch@5"; !strings.HasPrefix(requests, want) {
					t.Errorf("requests [%s], want [%s]", requests, want)
				}
			}, between)
		})
	}
}
