// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// rollBackAndOvertake takes the server to a@5 with one label, back to version 4, again to a@5 with
// another label, and past the version that the informer has reached, from which a watch has
// expired. No list is older than before.
func rollBackAndOvertake(h *cachetest.Harness) {
	h.Update(cachetest.Pod("a", cachetest.WithLabel("epoch", "lost")))
	h.SkipVersions(50)
	h.Bookmark()
	synctest.Wait()
	h.Restore("4")
	h.Update(cachetest.Pod("a", cachetest.WithLabel("epoch", "restored")))
	h.SkipVersions(100)
	h.TruncateWatchCache()
}

// podClient is a client of a harness's Pods.
type podClient struct{ *cachetest.Harness }

func (c podClient) List(ctx context.Context, options metav1.ListOptions) (*corev1.PodList, error) {
	list, err := c.Harness.List(ctx, options)
	if err != nil {
		return nil, err
	}
	return list.(*corev1.PodList), nil
}

func (c podClient) Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	return c.Harness.Watch(ctx, options)
}

// The list after a 410 has a with the UID and the version that the store has, and other contents.
func TestRelistFindsAVersionThatWasUsedTwice(t *testing.T) {
	transform := func(p *corev1.Pod) (*corev1.Pod, error) {
		p.Annotations = map[string]string{"transformed": p.Annotations["transformed"] + "x"}
		return p, nil
	}
	for name, options := range map[string]cache.InformerOptions[*corev1.Pod]{
		"live":               {},
		"packed":             {Packed: true},
		"in pages":           {PageSize: 2},
		"filtered":           {Filter: func(p *corev1.Pod) bool { return p.Name == "a" || p.Labels["epoch"] == "" }},
		"transformed":        {Transform: transform},
		"transformed packed": {Packed: true, Transform: transform},
		"WatchList":          {WatchList: true},
		"WatchList packed":   {WatchList: true, Packed: true},
	} {
		t.Run(name, func(t *testing.T) {
			expectReuseIsDelivered(t, options, func(h *cachetest.Harness) {
				rollBackAndOvertake(h)
				cachetest.Advance(10 * time.Second)
			})
		})
	}
}

// The same in an informer with scopes.
func TestRelistOfAScopeFindsAVersionThatWasUsedTwice(t *testing.T) {
	for mode, packed := range map[string]bool{"live": false, "packed": true} {
		t.Run(mode, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := cachetest.New(t)
				lw := cache.ListWatchByNamespace(func(string) podClient { return podClient{h} })
				pods := cache.NewSharedInformer(lw, &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{
					Packed: packed, ErrorHandler: h.Report, Scopes: cache.NewScopes(cache.Scope{Namespace: "ns"}),
				})
				stop := runInformer(t, pods)
				rollBackAndOvertake(h)
				cachetest.Advance(10 * time.Second)
				a, _ := pods.Store().GetByKey("ns/a")
				expectRestoredA(t, a)
				stop()
			})
		})
	}
}

// A list that finds a version used twice is followed by a consistent read at once, and if that
// fails by another one. A relist without a difference is one request.
func TestVersionThatWasUsedTwiceCausesAConsistentRead(t *testing.T) {
	cachetest.InBubble(t, func(h *cachetest.Harness) {
		h.ExpectSynced()
		rollBackAndOvertake(h)
		h.InjectListFault(1, fake.Fault{})
		h.InjectListFault(1, fake.Fault{Err: errors.New("injected")})
		cachetest.Advance(20 * time.Second)
		if requests, _ := h.RequestsSince(0); !strings.HasSuffix(requests, "list@55 list@ list@ watch@105") {
			t.Errorf("requests: %s", requests)
		}
		if a, _ := h.Store.GetByKey("ns/a"); a.Labels["epoch"] != "restored" {
			t.Errorf("the store has %v", a)
		}
		n := len(h.Requests())
		h.SkipVersions(10)
		h.TruncateWatchCache()
		h.Send(fake.ErrorEvent(fake.Expired()))
		cachetest.Advance(20 * time.Second)
		if requests, _ := h.RequestsSince(n); strings.Count(requests, "list@") != 1 {
			t.Errorf("requests of a relist without a difference: %s", requests)
		}
		h.TakeErrors()
		h.ExpectEvents("U a@2→5", "U a@5→5")
	})
}
