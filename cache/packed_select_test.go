// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
)

// labelled returns a Pod of a workload, with labels that it shares with the workload or not.
func labelled(random *rand.Rand) *corev1.Pod {
	owner := random.IntN(4)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "a", Name: fmt.Sprint(random.IntN(40)),
		OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Name: fmt.Sprint(owner), UID: types.UID(fmt.Sprint(owner)), Controller: new(true)}},
	}}
	switch random.IntN(4) {
	case 0:
	case 1:
		pod.Labels = map[string]string{"app": fmt.Sprint(owner), "own": pod.Name}
	default:
		pod.Labels = map[string]string{"app": fmt.Sprint(owner)}
	}
	pod.Spec.NodeName = fmt.Sprint(random.IntN(1000))
	return pod
}

// An informer that packs selects the objects that one that does not selects, whatever groups have
// the same labels.
func TestPackedSelectsAsLive(t *testing.T) {
	for seed := range uint64(5) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 0))
			server := fake.NewListerWatcher(&corev1.Pod{})
			listers := map[bool]cache.Lister[*corev1.Pod]{}
			for _, packed := range []bool{false, true} {
				informer := cache.NewSharedInformer(server, &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{Packed: packed})
				start(t, informer)
				listers[packed] = cache.NewLister(informer.Store(), corev1.Resource("pods"))
			}
			for step := range 200 {
				pod := labelled(random)
				switch _, exists := server.Get("a/" + pod.Name); {
				case !exists:
					server.Create(pod)
				case random.IntN(5) == 0:
					server.Delete("a/" + pod.Name)
				default:
					server.Update(pod)
				}
				synctest.Wait()
				if step%10 > 0 {
					continue
				}
				runtime.GC() // decoded objects are not read from their bytes
				for _, selector := range []string{"app=1", "app!=1", "!app", "own", "app in (1,2),!own", fmt.Sprint("own=", pod.Name)} {
					parsed, err := labels.Parse(selector)
					if err != nil {
						t.Fatal(err)
					}
					if got, want := names(listers[true].List(parsed)), names(listers[false].List(parsed)); !slices.Equal(got, want) {
						t.Fatalf("seed %d, step %d, %s: %v, want %v", seed, step, selector, got, want)
					}
				}
			}
		})
	}
}

// names returns the names of Pods, sorted.
func names(pods []*corev1.Pod) (all []string) {
	for _, pod := range pods {
		all = append(all, pod.Name)
	}
	slices.Sort(all)
	return all
}
