// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/features"
	featurestesting "k8s.io/client-go/features/testing"
	fcache "k8s.io/client-go/tools/cache/testing"

	"github.com/kinformer/kinformer/clientgo"
	"github.com/kinformer/kinformer/internal/testing/cachetest"
)

// TestChangesOfDroppedWatchArriveSoon makes changes that a FakeControllerSource does not send, and
// then drops the watch, so that the informer has to list: it delivers the changes within five
// seconds, right after the start as well as later, whether or not it tries a WatchList first, which
// the source fails.
func TestChangesOfDroppedWatchArriveSoon(t *testing.T) {
	for name, age := range map[string]time.Duration{"at the start": 0, "after a second": time.Second, "after an hour": time.Hour} {
		for _, watchList := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, WatchList %v", name, watchList), func(t *testing.T) {
				featurestesting.SetFeatureDuringTest(t, features.WatchListClient, watchList)
				synctest.Test(t, func(t *testing.T) {
					source := fcache.NewFakeControllerSource()
					t.Cleanup(source.Shutdown) // after the informer has stopped
					source.Add(cachetest.Pod("a"))
					source.Add(cachetest.Pod("b"))
					h := run(t, source, clientgo.Options{})
					cachetest.Advance(age)
					h.take()
					source.AddDropWatch(cachetest.Pod("c"))
					source.ModifyDropWatch(cachetest.Pod("a"))
					source.DeleteDropWatch(cachetest.Pod("b"))
					h.expectEvents()
					source.ResetWatch()
					cachetest.Advance(5 * time.Second)
					got := h.take()
					slices.Sort(got)
					if want := []string{"A c@3", "T ns/b b@2", "U a@4"}; !slices.Equal(got, want) {
						t.Errorf("the handler received %q within five seconds, want %q", got, want)
					}
					source.Add(cachetest.Pod("d"))
					cachetest.Advance(20 * time.Second) // the source has no watch from the list's version
					if got := h.take(); !slices.Contains(got, "A d@6") {
						t.Errorf("the handler received %q, want a later addition, too", got)
					}
				})
			})
		}
	}
}
