// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package fake_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinformer/kinformer/fake"
)

func TestListerWatcherOfShards(t *testing.T) {
	lw := fake.NewListerWatcher(&corev1.Pod{})
	opts := metav1.ListOptions{ResourceVersion: lw.ResourceVersion(), ShardSelector: lowerHalf.String()}
	unsharded := mustWatch(t, lw, opts)
	lw.SetShardedListAndWatch(true)
	sharded := mustWatch(t, lw, opts)
	pods := createPods(t, func(obj fake.Object) error {
		lw.Create(obj.(*corev1.Pod)).DeepCopyInto(obj.(*corev1.Pod))
		return nil
	})
	var all, selected []string
	for _, p := range pods {
		all = append(all, "ADDED "+p.Name+"@"+p.ResourceVersion)
	}
	for _, item := range lowerHalf.of(pods) {
		selected = append(selected, "ADDED "+item)
	}
	expectEvents(t, unsharded, all...)
	expectEvents(t, sharded, selected...)

	opts.ResourceVersion = ""
	list, items := mustList(t, lw, opts)
	expectItems(t, items, lowerHalf.of(pods)...)
	if info := list.(*corev1.PodList).ShardInfo; info == nil || info.Selector != lowerHalf.String() {
		t.Errorf("shardInfo: got %v", info)
	}
	opts.FieldSelector = "metadata.namespace=ns3"
	_, items = mustList(t, lw, opts)
	expectItems(t, items, lowerHalf.of(pods[12:16])...)
	if _, err := lw.Watch(t.Context(), metav1.ListOptions{ShardSelector: "x"}); err == nil || !strings.HasPrefix(err.Error(), "invalid shard selector: ") {
		t.Errorf("invalid selector: got error %v", err)
	}
	lw.SetShardedListAndWatch(false)
	if list, items := mustList(t, lw, metav1.ListOptions{ShardSelector: "x"}); len(items) != len(pods) || list.(*corev1.PodList).ShardInfo != nil {
		t.Errorf("without the gate: got %d Pods, want all", len(items))
	}
}

// As from kube-apiserver, an unstructured list has a shardInfo if a generated type of its kind
// exists.
func TestShardInfoOfUnstructuredLists(t *testing.T) {
	for kind, hasInfo := range map[schema.GroupVersionKind]bool{
		corev1.SchemeGroupVersion.WithKind("Pod"):             true,
		{Group: "example.com", Version: "v1", Kind: "Widget"}: false,
	} {
		example := &unstructured.Unstructured{}
		example.SetGroupVersionKind(kind)
		lw := fake.NewListerWatcher(example)
		lw.SetShardedListAndWatch(true)
		list, _ := mustList(t, lw, metav1.ListOptions{ShardSelector: lowerHalf.String()})
		_, found, err := unstructured.NestedString(list.(*unstructured.UnstructuredList).Object, "metadata", "shardInfo", "selector")
		if found != hasInfo || err != nil {
			t.Errorf("%s: has a shardInfo: %v, %v", kind, found, err)
		}
	}
}
