// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package feed_test

import (
	"errors"
	"testing"
	"unsafe"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/kinformer/internal/feed"
)

// emptyCodec decodes any bytes to nil, as a protobuf codec decodes no bytes to an empty object.
type emptyCodec struct{}

func (emptyCodec) Decode([]byte) (runtime.Object, error) { return nil, nil }

func TestItemWithoutBytesIsNotDecoded(t *testing.T) {
	for _, raw := range [][]byte{nil, {}} {
		if _, err := (feed.Item{Key: "a", Raw: raw, Codec: emptyCodec{}}).Decoded(); err == nil {
			t.Error("an item without an object and bytes was decoded")
		}
	}
	if _, err := (feed.Item{Key: "a", Raw: []byte{1}, Codec: emptyCodec{}}).Decoded(); err != nil {
		t.Errorf("Decoded() returned %v for an item with bytes", err)
	}
	cause := errors.New("too large")
	if _, err := (feed.Item{Key: "a", Codec: feed.ErrorCodec{Err: cause}}).Decoded(); !errors.Is(err, cause) {
		t.Errorf("Decoded() returned %v, want the error of the codec", err)
	}
}

func TestOwnedItemHasItsStrings(t *testing.T) {
	block := "default/web-1uid-112"
	borrowed := feed.Item{Key: block[:13], UID: block[13:18], ResourceVersion: block[18:], Borrowed: true}
	for _, item := range []feed.Item{borrowed, {Key: "web-1", ResourceVersion: "7", Borrowed: true}, {Key: "web-1"}, {Borrowed: true}} {
		owned := item.Owned()
		if owned.Key != item.Key || owned.UID != item.UID || owned.ResourceVersion != item.ResourceVersion || owned.Borrowed {
			t.Errorf("the item of %+v is %+v", item, owned)
		}
	}
	if unsafe.StringData(borrowed.Owned().Key) == unsafe.StringData(block) {
		t.Error("an owned key is a part of the block")
	}
	if allocations := testing.AllocsPerRun(10, func() { borrowed.Owned() }); allocations > 1 {
		t.Errorf("%v allocations, want one", allocations)
	}
}
