// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/kinformer/kinformer/cache"
	kfake "github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/shard"
)

// TestMemberHasSeriesOnce checks that a member over whose Scopes two informers are has one set of
// series, with every reason from the start, and none once it has stopped.
func TestMemberHasSeriesOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		leases := fake.NewClientset().CoordinationV1().Leases("web")
		member, err := shard.New(leases, shard.Options{Group: "web", Identity: "a", Slots: 4, HashField: cache.HashNamespace})
		if err != nil {
			t.Fatal(err)
		}
		server := kfake.NewListerWatcher(&corev1.Pod{})
		for n := range 30 {
			namespace := fmt.Sprintf("team-%02d", n)
			if n < 10 {
				namespace = fmt.Sprintf("app-%02d", n) // another slot
			}
			server.Create(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "a"}})
		}
		newSharded := func(name string) *cache.SharedInformer[*corev1.Pod] {
			return cache.NewSharedInformer(server, &corev1.Pod{},
				cache.InformerOptions[*corev1.Pod]{Name: name, Scopes: member.Scopes()})
		}
		one := newSharded("one")
		registry := register(one, newSharded("two"), newPods(t, "pods"))
		if text := scrape(t, registry); strings.Contains(text, "kinformer_shard") {
			t.Errorf("series of a member that does not run:\n%s", text)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- member.Run(ctx) }()
		<-time.After(time.Minute)
		if text := scrape(t, registry); strings.Contains(text, "_objects{group=") {
			t.Errorf("objects of a member whose informers do not run:\n%s", text)
		}
		go func() { _ = one.Run(ctx) }()
		<-time.After(time.Minute)
		text := scrape(t, registry)
		for _, line := range []string{
			`kinformer_shard_members{group="web",member="a"} 1`,
			`kinformer_shard_owned_slots{group="web",member="a"} 4`,
			`kinformer_shard_free_slots{group="web",member="a"} 0`,
			`kinformer_shard_objects{group="web",member="a"} 30`,
			`kinformer_shard_largest_slot_objects{group="web",member="a"} 20`,
			`kinformer_shard_renew_deadline_seconds{group="web",member="a"} 10`,
			`kinformer_shard_taken_slots_total{group="web",member="a",reason="Expired"} 0`,
			`kinformer_shard_taken_slots_total{group="web",member="a",reason="New"} 4`,
			`kinformer_shard_lost_slots_total{group="web",member="a",reason="NotRenewed"} 0`,
		} {
			if strings.Count(text, line+"\n") != 1 {
				t.Errorf("no or several lines %s", line)
			}
		}
		if n := strings.Count(text, "\nkinformer_shard_"); n != 19 {
			t.Errorf("%d series of the member:\n%s", n, text)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if text := scrape(t, registry); strings.Contains(text, "kinformer_shard") {
			t.Errorf("series of a member that has stopped:\n%s", text)
		}
	})
}

// TestIndexesHaveSeries checks that each index has a count of errors from the start.
func TestIndexesHaveSeries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := kfake.NewListerWatcher(&corev1.Pod{})
		pods := cache.NewSharedInformer(server, &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{
			Name: "indexed",
			Indexers: cache.Indexers[*corev1.Pod]{
				"broken": cache.ByObject(func(*corev1.Pod) ([]string, error) { return nil, errors.New("broken") }),
				"node":   cache.ByObject(func(pod *corev1.Pod) ([]string, error) { return []string{pod.Spec.NodeName}, nil }),
			},
		})
		registry := register(pods)
		expectSeries(t, registry, "kinformer_index_errors_total", `index="broken",informer="indexed",kind="Pod" index="node",informer="indexed",kind="Pod"`)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- pods.Run(ctx) }()
		server.Create(newPod("a"))
		<-time.After(time.Minute)
		if text := scrape(t, registry); !strings.Contains(text, `kinformer_index_errors_total{index="broken",informer="indexed",kind="Pod"} 1`) ||
			!strings.Contains(text, `kinformer_index_errors_total{index="node",informer="indexed",kind="Pod"} 0`) {
			t.Errorf("errors of indexes:\n%s", text)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
