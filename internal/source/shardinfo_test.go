// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package source_test

import (
	"reflect"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/internal/codec"
	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/source"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

const allShards = "shardRange(object.metadata.uid, '0x0000000000000000', '0x10000000000000000')"

// TestListReturnsShardInfo lists with a shard selector and without, streaming and decoded.
func TestListReturnsShardInfo(t *testing.T) {
	server := cachetest.StartAPIServer(t, fake.APIServerOptions{ShardedListAndWatch: true})
	for _, contentType := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
		streaming, decoded := bothSources(t, server, contentType, corev1.SchemeGroupVersion.WithKind("Pod"))
		expectShardInfo(t, contentType+", streaming", streaming)
		expectShardInfo(t, contentType+", decoded", decoded)
		if ok, reason := modeOf(streaming); !ok {
			t.Errorf("%s: not streaming: %s", contentType, reason)
		}
	}
	config := server.Config()
	cache.EnableStreaming(config)
	pods := cache.ListWatchOf(dynamic.NewForConfigOrDie(config).Resource(corev1.SchemeGroupVersion.WithResource("pods")))
	objects := codec.ObjectType{GoType: reflect.TypeFor[*unstructured.Unstructured]()}
	streaming := newSource(pods, objects)
	expectShardInfo(t, "dynamic client, streaming", streaming)
	if ok, reason := modeOf(streaming); !ok {
		t.Errorf("dynamic client: not streaming: %s", reason)
	}
	expectShardInfo(t, "dynamic client, decoded", source.NewDecoded(pods, objects))
}

func expectShardInfo(t *testing.T, name string, from feed.Source) {
	t.Helper()
	for selector, want := range map[string]*metav1.ShardInfo{"": nil, allShards: {Selector: allShards}} {
		got, err := from.List(t.Context(), metav1.ListOptions{ShardSelector: selector}, func(feed.Item) error { return nil })
		if diff := gocmp.Diff(want, got.ShardInfo); err != nil || diff != "" {
			t.Errorf("%s: shardInfo (-want +got): %s%v", name, diff, err)
		}
	}
}
