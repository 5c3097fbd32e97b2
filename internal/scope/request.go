// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package scope

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

// MaxRanges is the number of ranges in a request, whose URL then stays below 2 KB.
const MaxRanges = 16

// Request is the part of a collection that a list or watch asks for: one scope, or several that
// differ only in their ranges.
type Request struct {
	Scope          // without a range
	Ranges []Range // in order, and not adjacent; empty if the scopes have no ranges
}

type requestKey struct{}

// WithRequest returns a context that restricts a list or watch to a request.
func WithRequest(ctx context.Context, request Request) context.Context {
	return context.WithValue(ctx, requestKey{}, request)
}

// RequestOf returns the request to which a context restricts a list or watch. It returns the zero
// Request, which is the whole collection, if there is none.
func RequestOf(ctx context.Context) Request {
	request, _ := ctx.Value(requestKey{}).(Request)
	return request
}

// String describes the request for errors and logs.
func (r Request) String() string {
	switch len(r.Ranges) {
	case 0:
		return r.Scope.String()
	case 1:
		r.Hash = r.Ranges[0]
		return r.Scope.String()
	}
	parts := fmt.Sprintf("%d ranges of hashes of %s", len(r.Ranges), r.Ranges[0].Field)
	if r.Scope == (Scope{}) {
		return parts
	}
	return r.Scope.String() + ", " + parts
}

// Join returns the request for scopes that differ only in their ranges.
func Join(scopes []Scope) Request {
	first := scopes[0]
	first.Hash = Range{}
	ranges := make([]Range, 0, len(scopes))
	for _, s := range scopes {
		if !s.Hash.isZero() {
			ranges = append(ranges, s.Hash)
		}
	}
	return Request{first, Merge(ranges)}
}

// Merge sorts ranges, and returns them with adjacent and overlapping ones merged.
func Merge(ranges []Range) (merged []Range) {
	slices.SortFunc(ranges, func(a, b Range) int { return cmp.Compare(a.First, b.First) })
	for _, r := range ranges {
		if last := len(merged) - 1; last >= 0 && (r.First <= merged[last].Last || r.First == merged[last].Last+1) {
			merged[last].Last = max(merged[last].Last, r.Last)
			continue
		}
		merged = append(merged, r)
	}
	return merged
}

// Equal reports whether two requests ask for the same objects.
func (r Request) Equal(other Request) bool {
	return r.Scope == other.Scope && slices.Equal(r.Ranges, other.Ranges)
}

// Apply restricts the options of a list or watch to the request. If byField is set, it adds a field
// selector for the namespace. Otherwise the caller must request the path of the namespace. A shard
// selector that the options have stays, as a request has one: items outside of it are out of scope.
func (r Request) Apply(options *metav1.ListOptions, byField bool) {
	options.LabelSelector = both(options.LabelSelector, r.LabelSelector)
	options.FieldSelector = both(options.FieldSelector, r.Fields())
	if byField && r.Namespace != "" {
		options.FieldSelector = both(options.FieldSelector, "metadata.namespace="+r.Namespace)
	}
	options.ShardSelector = cmp.Or(options.ShardSelector, r.ShardSelector())
}

// Fields returns the field selector of the scope, and of its name if it has one.
func (s Scope) Fields() string {
	if s.Name == "" {
		return s.FieldSelector
	}
	return both("metadata.name="+s.Name, s.FieldSelector)
}

// both returns a selector for what both of two selectors match.
func both(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "," + b
}

// ShardSelector returns the shard selector of the request. It is empty if there are no ranges, more
// than MaxRanges, or if the only range has all hashes.
func (r Request) ShardSelector() string {
	full := len(r.Ranges) == 1 && r.Ranges[0].First == 0 && r.Ranges[0].Last == math.MaxUint64
	if len(r.Ranges) > MaxRanges || full {
		return ""
	}
	parts := make([]string, 0, len(r.Ranges))
	for _, part := range r.Ranges {
		parts = append(parts, fmt.Sprintf("shardRange(%s, '%s', '%s')", part.Field, hexOf(part.First), endOf(part.Last)))
	}
	return strings.Join(parts, " || ")
}

func hexOf(hash uint64) string { return fmt.Sprintf("0x%016x", hash) }

// endOf returns the exclusive end of a range.
func endOf(last uint64) string {
	if last == math.MaxUint64 {
		return "0x10000000000000000"
	}
	return hexOf(last + 1)
}

// Matches reports whether the scope's selectors match the labels of an object and, if the field
// selector has them, its name and namespace. Other fields are taken to match. See MayHold for the
// namespace and the name of the scope itself.
func (s Scope) Matches(objectLabels labels.Set, name, namespace string) bool {
	byLabels, err := labels.Parse(s.LabelSelector)
	if err != nil || !byLabels.Matches(objectLabels) {
		return false
	}
	byFields, err := fields.ParseSelector(s.FieldSelector)
	if err != nil {
		return false
	}
	for _, requirement := range byFields.Requirements() {
		known := fields.Set{"metadata.name": name, "metadata.namespace": namespace}
		value, ok := known[requirement.Field]
		if ok && (value == requirement.Value) != (requirement.Operator != "!=") {
			return false
		}
	}
	return true
}

// IsAnsweredBy reports whether the selector in a list's shardInfo has the ranges of the request.
// The server may state them in another form than the request does.
func (r Request) IsAnsweredBy(selector string) bool {
	ranges, err := ParseShardSelector(selector)
	return err == nil && r.ShardSelector() != "" && slices.Equal(Merge(ranges), r.Ranges)
}

var shardRange = regexp.MustCompile(`^\s*shardRange\(\s*(object\.metadata\.\w+)\s*,\s*'0x([0-9a-f]{1,16})'\s*,\s*'0x([0-9a-f]{1,17})'\s*\)\s*$`)

// ParseShardSelector returns the ranges of a shard selector.
func ParseShardSelector(selector string) (ranges []Range, err error) {
	for part := range strings.SplitSeq(selector, "||") {
		fields := shardRange.FindStringSubmatch(part)
		if fields == nil {
			return nil, fmt.Errorf("not a range of hashes: %q", part)
		}
		r, err := parseRange(fields[1], fields[2], fields[3])
		if err != nil {
			return nil, fmt.Errorf("range of hashes %q: %w", part, err)
		}
		ranges = append(ranges, r)
	}
	return ranges, nil
}

var errEmptyRange = errors.New("the end is not after the start")

// parseRange returns the range from first up to end, which it does not include.
func parseRange(field, first, end string) (Range, error) {
	r := Range{Field: field, Last: math.MaxUint64}
	var firstErr, endErr error
	r.First, firstErr = strconv.ParseUint(first, 16, 64)
	if end != "10000000000000000" {
		r.Last, endErr = strconv.ParseUint(end, 16, 64)
		if r.Last <= r.First {
			return r, errors.Join(firstErr, endErr, errEmptyRange)
		}
		r.Last--
	}
	return r, errors.Join(firstErr, endErr)
}
