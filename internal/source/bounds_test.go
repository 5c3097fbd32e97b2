// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/testing/randomapi"
	"github.com/kinformer/kinformer/internal/wire"
)

// TestLengthOfVersionIsBounded checks that a resourceVersion has up to 4096 bytes.
func TestLengthOfVersionIsBounded(t *testing.T) {
	for length, want := range map[int]error{4096: nil, 4097: feed.ErrNoVersion} {
		if err := checkVersion(strings.Repeat("9", length)); !errors.Is(err, want) {
			t.Errorf("checkVersion of %d digits returned %v, want %v", length, err, want)
		}
	}
}

// TestLengthOfBookmarkVersionIsBounded checks that the resourceVersion of a bookmark, which may be
// empty, has up to 4096 bytes.
func TestLengthOfBookmarkVersionIsBounded(t *testing.T) {
	for length, want := range map[int]error{0: nil, 4096: nil, 4097: feed.ErrNoVersion} {
		body := fmt.Sprintf(`{"type":"BOOKMARK","object":{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":%q}}}`, strings.Repeat("9", length))
		request := &watchRequest{events: bookmarkSink{}}
		if err := wire.Watch(strings.NewReader(body), wire.JSON, wire.Options{}, request.deliver); !errors.Is(err, want) {
			t.Errorf("the bookmark at a version of %d digits is %v, want %v", length, err, want)
		}
	}
}

// bookmarkSink accepts every bookmark.
type bookmarkSink struct{ feed.WatchSink }

func (bookmarkSink) Bookmark(string, bool) error { return nil }

// TestLengthOfKeyIsBounded checks that a key, streamed or decoded by the client, has up to 4096
// bytes.
func TestLengthOfKeyIsBounded(t *testing.T) {
	for length, valid := range map[int]bool{4096: true, 4097: false} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: strings.Repeat("x", length-len("ns/")), ResourceVersion: "9"}}
		raw, _ := randomapi.Encode(t, pod)
		if item, err := itemOf(raw, wire.Protobuf, podType); (err == nil) != valid || valid != (item.Key != "") {
			t.Errorf("streamed key of %d bytes: %d, %v", length, len(item.Key), err)
		}
		if item, err := (decodedSource{objects: podType}).item(pod); (err == nil) != valid || valid != (item.Key != "") {
			t.Errorf("decoded key of %d bytes: %d, %v", length, len(item.Key), err)
		}
	}
}
