// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"errors"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
)

func TestEventIsEncodedOncePerEncoding(t *testing.T) {
	event := &Event{Type: watch.Added, Object: &corev1.Pod{}}
	calls := 0 // not guarded, so that the race detector reports concurrent encoding
	encode := func(*Event) ([]byte, error) {
		calls++
		return []byte("x"), nil
	}
	if _, err := event.Encoded("json", func(*Event) ([]byte, error) { return nil, errors.New("no") }); err == nil {
		t.Error("Encoded did not return the error of encode")
	}
	var done sync.WaitGroup
	for i := range 50 {
		encoding := []string{"json", "protobuf"}[i%2]
		done.Go(func() {
			if data, err := event.Encoded(encoding, encode); err != nil || string(data) != "x" {
				t.Errorf("got %q, %v", data, err)
			}
		})
	}
	done.Wait()
	if calls != 2 {
		t.Errorf("encoded %d times for 2 encodings", calls)
	}
}
