// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"slices"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	fcache "k8s.io/client-go/tools/cache/testing"

	"github.com/kinformer/kinformer/cache"
)

// recordedSource is a FakeControllerSource that records the resourceVersions of lists.
type recordedSource struct {
	*fcache.FakeControllerSource
	lists []string
}

func (s *recordedSource) List(options metav1.ListOptions) (runtime.Object, error) {
	s.lists = append(s.lists, options.ResourceVersion)
	return s.FakeControllerSource.List(options)
}

// A FakeControllerSource, whose tests may count lists, is not asked for its version.
func TestControllerSourceIsNotProbed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &recordedSource{FakeControllerSource: fcache.NewFakeControllerSource()}
		t.Cleanup(source.Shutdown) // after the informer has stopped: a list would block
		pods := cache.NewSharedInformer(cache.ListWatchFromClientGo(source), &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{})
		start(t, pods)
		synctest.Wait()
		if !slices.Equal(source.lists, []string{"0"}) || !pods.HasSynced() {
			t.Errorf("lists at %q, synced %v, want one at version 0", source.lists, pods.HasSynced())
		}
	})
}
