// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package podserver

import (
	"bytes"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/testing/envelope"
)

// initialEventsEnd returns the bookmark that ends the initial events of a WatchList.
func initialEventsEnd(resourceVersion string) []byte {
	return must(envelope.Of("v1", "Pod", false).Bookmark(resourceVersion, true))
}

// expired returns the frame of a 410 Gone error, which ends a watch.
func expired() []byte {
	status := apierrors.NewResourceExpired("the benchmark requested a relist").Status()
	return envelope.Of("v1", "Status", false).Frame(watch.Error, must(status.Marshal()))
}

func must(encoded []byte, err error) []byte {
	if err != nil {
		panic("watch frame: " + err.Error())
	}
	return encoded
}

// isLast reports whether a frame is an ERROR event, which is the last of a watch.
func isLast(frame []byte) bool { return bytes.HasPrefix(frame[4:], []byte("\n\x05ERROR")) }
