// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/feed"
)

// versionlessSource is a source without resourceVersions, as client-go's fakes are.
type versionlessSource struct{ *scriptedSource }

func (versionlessSource) List(_ context.Context, _ metav1.ListOptions, add func(feed.Item) error) (metav1.ListMeta, error) {
	return metav1.ListMeta{}, add(item("a=bad", ""))
}

// A wait for the deletion of an object that could never be stored ends with its deletion, also if
// the server has no versions.
func TestWaitForDeleteWithoutVersions(t *testing.T) {
	runInformer(t, nil, func(config *Config) {
		config.Reflector.Source = versionlessSource{config.Reflector.Source.(*scriptedSource)}
		failing(config)
	}, func(*harness) {}, func(h *harness) {
		ctx, cancel := context.WithTimeout(h.t.Context(), time.Hour)
		defer cancel()
		waited := make(chan error, 1)
		go func() { waited <- h.WaitForDelete(ctx, "a", "uid-a") }()
		synctest.Wait()
		h.send(watch.Deleted, "a=bad", "")
		if err := <-waited; err != nil {
			h.t.Errorf("WaitForDelete returned %v", err)
		}
	})
}
