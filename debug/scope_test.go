// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package debug

import (
	"context"
	"errors"
	"fmt"
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

// forbidding refuses to list the last of the namespaces.
type forbidding struct {
	*fake.ListerWatcher[*corev1.Pod]
}

func (f forbidding) List(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	if options.FieldSelector == "metadata.namespace=ns-119" {
		return nil, apierrors.NewForbidden(corev1.Resource("pods"), "", errors.New("not allowed"))
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
		read := getJSON[struct {
			ScopeCount int
			Scopes     []struct{ Scope, Phase, Error string }
		}](t, handler, page("informer.json", id, ""))
		if len(read.Scopes) != 100 || read.ScopeCount != 120 || read.Scopes[0].Phase != "Retrying" || read.Scopes[1].Error != "" {
			t.Errorf("JSON: %+v", read)
		}
	})
}

// TestNoScopes shows an informer of a whole collection.
func TestNoScopes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		informer, _ := pods("pods")
		run(t, informer)
		expectNot(t, get(t, Handler(Options{}, informer), page("informer", informer.Views()[0].ID(), "")), "Scopes")
	})
}
