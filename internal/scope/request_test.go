// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package scope

import (
	"math"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ends returns ranges of UIDs for pairs of a first and a last hash.
func ends(pairs ...[2]uint64) (ranges []Range) {
	for _, pair := range pairs {
		ranges = append(ranges, Range{UID, pair[0], pair[1]})
	}
	return ranges
}

func TestMergeOfRanges(t *testing.T) {
	const last = math.MaxUint64
	for _, row := range []struct {
		name         string
		ranges, want []Range
	}{
		{"none", nil, nil},
		{"in order", ends([2]uint64{20, 29}, [2]uint64{0, 9}), ends([2]uint64{0, 9}, [2]uint64{20, 29})},
		{"adjacent", ends([2]uint64{10, 19}, [2]uint64{0, 9}), ends([2]uint64{0, 19})},
		{"one apart", ends([2]uint64{0, 9}, [2]uint64{11, 19}), ends([2]uint64{0, 9}, [2]uint64{11, 19})},
		{"overlapping", ends([2]uint64{0, 15}, [2]uint64{10, 19}), ends([2]uint64{0, 19})},
		{"one in the other", ends([2]uint64{0, 19}, [2]uint64{5, 9}), ends([2]uint64{0, 19})},
		{"one in the other, up to the last hash", ends([2]uint64{0, last}, [2]uint64{5, 9}), ends([2]uint64{0, last})},
		{"equal", ends([2]uint64{0, 9}, [2]uint64{0, 9}), ends([2]uint64{0, 9})},
		{"both halves", ends([2]uint64{1 << 63, last}, [2]uint64{0, 1<<63 - 1}), ends([2]uint64{0, last})},
	} {
		if got := Merge(slices.Clone(row.ranges)); !slices.Equal(got, row.want) {
			t.Errorf("%s: %v, want %v", row.name, got, row.want)
		}
	}
}

func TestJoinedScopesAreOneRequest(t *testing.T) {
	low, high := Scope{Namespace: "a", Hash: Range{UID, 0, 9}}, Scope{Namespace: "a", Hash: Range{UID, 10, 19}}
	want := Request{in("a"), ends([2]uint64{0, 19})}
	if got := Join([]Scope{high, low}); !got.Equal(want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := Join([]Scope{in("a")}); !got.Equal(Request{Scope: in("a")}) || got.ShardSelector() != "" {
		t.Errorf("without ranges: %v", got)
	}
}

// apart returns n ranges that are not adjacent.
func apart(n uint64) (ranges []Range) {
	for i := range n {
		ranges = append(ranges, Range{UID, i << 59, i<<59 + 9})
	}
	return ranges
}

func TestShardSelectorOfRequest(t *testing.T) {
	for _, row := range []struct {
		name   string
		ranges []Range
		want   string
	}{
		{"no ranges", nil, ""},
		{"all hashes", ends([2]uint64{0, math.MaxUint64}), ""},
		{"one range", ends([2]uint64{0, 1<<63 - 1}), "shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000')"},
		{"up to the last hash", ends([2]uint64{1 << 63, math.MaxUint64}), "shardRange(object.metadata.uid, '0x8000000000000000', '0x10000000000000000')"},
		{
			"two ranges", ends([2]uint64{0, 9}, [2]uint64{20, 29}),
			"shardRange(object.metadata.uid, '0x0000000000000000', '0x000000000000000a') || shardRange(object.metadata.uid, '0x0000000000000014', '0x000000000000001e')",
		},
		{"more ranges than a request has", apart(MaxRanges + 1), ""},
	} {
		if got := (Request{Ranges: row.ranges}).ShardSelector(); got != row.want {
			t.Errorf("%s: %q, want %q", row.name, got, row.want)
		}
	}
}

func TestShardSelectorCanBeParsed(t *testing.T) {
	for _, ranges := range [][]Range{ends([2]uint64{3, 3}), ends([2]uint64{0, 9}, [2]uint64{1 << 63, math.MaxUint64}), apart(MaxRanges)} {
		request := Request{Ranges: ranges}
		got, err := ParseShardSelector(request.ShardSelector())
		if err != nil || !slices.Equal(got, ranges) {
			t.Errorf("%v, %v, want %v", got, err, ranges)
		}
		if !request.IsAnsweredBy(request.ShardSelector()) {
			t.Errorf("%v is not answered by its own selector", ranges)
		}
	}
}

func TestShardInfoWithOtherRangesIsNoAnswer(t *testing.T) {
	request := Request{Ranges: ends([2]uint64{0, 19})}
	for selector, want := range map[string]bool{
		"shardRange(object.metadata.uid,'0x0','0x14')":                                                   true,
		"shardRange(object.metadata.uid, '0xa', '0x14') || shardRange(object.metadata.uid, '0x0','0xa')": true,
		"shardRange(object.metadata.uid, '0x0', '0x15')":                                                 false,
		"shardRange(object.metadata.namespace, '0x0', '0x14')":                                           false,
		"": false,
	} {
		if got := request.IsAnsweredBy(selector); got != want {
			t.Errorf("%q: %v", selector, got)
		}
	}
}

func TestInvalidShardSelectorsAreErrors(t *testing.T) {
	for _, selector := range []string{
		"",
		"all",
		"shardRange(object.metadata.uid, 0x0, 0x1)",
		"shardRange(object.metadata.uid, '0x0')",
		"shardRange(object.spec.uid, '0x0', '0x1')",
		"shardRange(object.metadata.uid, '0x0', '0xG')",
		"shardRange(object.metadata.uid, '0x0', '0x10000000000000001')",
		"shardRange(object.metadata.uid, '0x0', '0x0')",
		"shardRange(object.metadata.uid, '0x2', '0x1')",
		"shardRange(object.metadata.uid, '0x0', '0x1') ||",
		"shardRange(object.metadata.uid, '0x0', '0x1') && true",
	} {
		if ranges, err := ParseShardSelector(selector); err == nil {
			t.Errorf("%q: %v", selector, ranges)
		}
	}
}

func TestRequestRestrictsOptions(t *testing.T) {
	request := Request{Scope{Namespace: "a", LabelSelector: "env=dev", FieldSelector: "metadata.name=x"}, ends([2]uint64{0, 9})}
	shard := request.ShardSelector()
	for _, row := range []struct {
		name    string
		options metav1.ListOptions
		byField bool
		want    metav1.ListOptions
	}{
		{"no options", metav1.ListOptions{}, false, metav1.ListOptions{LabelSelector: "env=dev", FieldSelector: "metadata.name=x", ShardSelector: shard}},
		{"the namespace by a field", metav1.ListOptions{}, true, metav1.ListOptions{
			LabelSelector: "env=dev", FieldSelector: "metadata.name=x,metadata.namespace=a", ShardSelector: shard,
		}},
		{"options with selectors", metav1.ListOptions{LabelSelector: "tier", FieldSelector: "spec.nodeName=n", ShardSelector: "its own"}, false, metav1.ListOptions{
			LabelSelector: "tier,env=dev", FieldSelector: "spec.nodeName=n,metadata.name=x", ShardSelector: "its own",
		}},
	} {
		got := row.options
		request.Apply(&got, row.byField)
		if got.String() != row.want.String() {
			t.Errorf("%s: %v, want %v", row.name, got.String(), row.want.String())
		}
	}
}

func TestRequestIsDescribed(t *testing.T) {
	request := Request{in("a"), apart(2)}
	if got := request.String(); !strings.Contains(got, `namespace "a"`) || !strings.Contains(got, "2 ranges of hashes") {
		t.Error(got)
	}
}
