// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/kinformer/internal/feed"
)

// relistingSource ends its first watch as expired. It calls afterItems after it has passed on the
// items of the second list.
type relistingSource struct {
	*scriptedSource
	lists, watches int
	afterItems     func()
}

func (s *relistingSource) List(ctx context.Context, options metav1.ListOptions, add func(feed.Item) error) (metav1.ListMeta, error) {
	meta, err := s.scriptedSource.List(ctx, options, func(item feed.Item) error {
		item.Codec = rawObjectCodec{}
		return add(item)
	})
	if s.lists++; s.lists == 2 {
		s.afterItems()
	}
	return meta, err
}

func (s *relistingSource) Watch(ctx context.Context, options metav1.ListOptions, events feed.WatchSink) error {
	if s.watches++; s.watches == 1 {
		events.Opened()
		return apierrors.NewResourceExpired("gone")
	}
	return s.scriptedSource.Watch(ctx, options, events)
}

// rawObject carries the bytes of an object to a filter.
type rawObject struct {
	runtime.Object
	text string
}

type rawObjectCodec struct{}

func (rawObjectCodec) Decode(raw []byte) (runtime.Object, error) {
	return rawObject{text: string(raw)}, nil
}

// A program may delete an object while a relist arrives. What was decided when the item came, that
// its version is stored and passes the filter, still holds when it is added.
func TestObjectDeletedDuringRelistIsStoredAgain(t *testing.T) {
	for name, filter := range map[string]func(runtime.Object) bool{
		"without filter": nil,
		"with filter":    func(obj runtime.Object) bool { return strings.HasPrefix(obj.(rawObject).text, "a=1") },
	} {
		t.Run(name, func(t *testing.T) {
			var events, reported []string
			source := &relistingSource{}
			runInformer(t, []string{"a=1"}, func(config *Config) {
				source.scriptedSource = config.Reflector.Source.(*scriptedSource)
				config.Reflector.Source = source
				config.Filter = filter
				config.Store.Report = func(key string, err error) { reported = append(reported, key+": "+err.Error()) }
				config.Store.Decode = func(item feed.Item) (any, error) {
					obj, err := item.Decoded()
					if err != nil {
						return "", err
					}
					return obj.(rawObject).text, nil
				}
			}, func(h *harness) {
				h.AddHandler("handler", record(&events), 0)
				source.afterItems = func() {
					if err := h.Store().Remove("a=1"); err != nil {
						t.Error(err)
					}
				}
			}, func(h *harness) {
				<-time.After(time.Minute) // longer than the backoff before the relist
				synctest.Wait()
				h.expect("handler", events, "A a →a=1 (initial)", "D a a=1→", "A a →a=1")
				h.expect("the ErrorHandler", reported)
			})
		})
	}
}
