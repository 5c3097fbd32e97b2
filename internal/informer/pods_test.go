// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"context"
	"reflect"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/reflector"
	"github.com/kinformer/kinformer/internal/store"
)

// idleSource never answers. Its tests write to the informer's sink themselves.
type idleSource struct{ feed.Source }

func (idleSource) List(ctx context.Context, _ metav1.ListOptions, _ func(feed.Item) error) (metav1.ListMeta, error) {
	<-ctx.Done()
	return metav1.ListMeta{}, ctx.Err()
}

// Traits implements feed.Source.
func (idleSource) Traits() feed.Traits { return feed.Traits{} }

// podItems returns n items of a collection of so many Pods, in consecutive versions from version
// on.
func podItems(n, pods, version int) []feed.Item {
	items := make([]feed.Item, n)
	for i := range items {
		rv, name := strconv.Itoa(version+i), "pod-"+strconv.Itoa((version+i)%pods)
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-" + name), ResourceVersion: rv}}
		items[i] = feed.Item{Key: "default/" + name, UID: string(p.UID), ResourceVersion: rv, Object: p}
	}
	return items
}

func podStore() store.Config {
	return store.Config{
		Key:      func(p any) (string, error) { return p.(*corev1.Pod).Namespace + "/" + p.(*corev1.Pod).Name, nil },
		ItemKeys: true,
		Identity: func(p any) (string, string) { return string(p.(*corev1.Pod).UID), p.(*corev1.Pod).ResourceVersion },
		Decode: func(item feed.Item) (any, error) {
			obj, err := item.Decoded()
			if err != nil {
				return nil, err
			}
			return obj.(*corev1.Pod), nil
		},
		PointerType: reflect.TypeFor[*corev1.Pod](),
		Report:      func(string, error) {},
	}
}

// newPodInformer returns an informer of Pods that is not running.
func newPodInformer(configure ...func(*Config)) *Informer {
	config := Config{Name: "pods", Store: podStore(), Reflector: reflector.Config{Source: idleSource{}}}
	for _, f := range configure {
		f(&config)
	}
	return New(config)
}

// startPodInformer starts an informer whose initial list holds so many Pods. It stops when the
// test ends.
func startPodInformer(tb testing.TB, pods int, configure ...func(*Config)) *Informer {
	tb.Helper()
	i := newPodInformer(configure...)
	stop := start(i)
	list(i, pods)
	tb.Cleanup(func() {
		if err := stop(); err != nil {
			tb.Error(err)
		}
	})
	return i
}

// list stores an initial list of so many Pods.
func list(i *Informer, pods int) {
	replacement := i.feed.Begin()
	for _, item := range podItems(pods, pods, 1) {
		replacement.Add(item)
	}
	replacement.Commit(strconv.Itoa(pods))
}
