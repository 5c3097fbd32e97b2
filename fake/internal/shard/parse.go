// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/sharding"
)

const (
	uid       = "object.metadata.uid"
	namespace = "object.metadata.namespace"

	digits = 16                    // of a hash
	end    = "0x10000000000000000" // one more than the highest hash, and the only bound with 17 digits
)

// The kinds of expressions in kube-apiserver's errors, which are numbers of cel-go.
const (
	kindName    = 3
	kindLiteral = 5
	kindPath    = 7
)

var errEmpty = errors.New("empty shard selector is not allowed; omit the parameter for unfiltered lists")

// Parse parses a shard selector. Errors in a call have kube-apiserver's texts. Where there is
// anything but calls, the error is a CEL parse error, with a text of its own.
func Parse(text string) (sharding.Selector, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return nil, errEmpty
	}
	tokens, err := tokenize(text)
	if err != nil {
		return nil, err
	}
	calls, err := (&parser{tokens: tokens}).calls()
	if err != nil {
		return nil, err
	}
	ranges := make([]sharding.ShardRangeRequirement, len(calls))
	for i, c := range calls {
		if ranges[i], err = c.shardRange(); err != nil {
			return nil, err
		}
	}
	return sharding.NewSelector(ranges...), checkFields(ranges)
}

// checkFields returns an error unless all ranges are of the same field.
func checkFields(ranges []sharding.ShardRangeRequirement) error {
	for _, r := range ranges {
		if first := ranges[0].Key; r.Key != first {
			return fmt.Errorf("all shard ranges must use the same field, got %q and %q", first, r.Key)
		}
	}
	return nil
}

// shardRange returns the range of a call.
func (c call) shardRange() (r sharding.ShardRangeRequirement, err error) {
	if c.function != "shardRange" {
		return r, fmt.Errorf("unsupported function %q; only shardRange() and || are allowed", c.function)
	}
	if n := len(c.arguments); n != 3 {
		return r, fmt.Errorf("shardRange() requires exactly 3 arguments, got %d", n)
	}
	if r.Key, err = c.arguments[0].field(); err != nil {
		return r, err
	}
	if r.Start, err = c.arguments[1].bound("hexStart"); err != nil {
		return r, err
	}
	if r.End, err = c.arguments[2].bound("hexEnd"); err != nil {
		return r, err
	}
	if !sharding.HexLess(r.Start, r.End) {
		return r, fmt.Errorf("shard range start %s must be less than end %s", r.Start, r.End)
	}
	return r, nil
}

// field returns the field whose hash a range is of.
func (a argument) field() (string, error) {
	switch {
	case a.isLiteral:
		return "", fmt.Errorf("shardRange() first argument: expected field path (e.g. object.metadata.uid), got expression kind %d", kindLiteral)
	case a.text != uid && a.text != namespace:
		return "", fmt.Errorf("unsupported field path %q; supported: %s, %s", a.text, uid, namespace)
	}
	return a.text, nil
}

// bound returns a bound of a range, which the server's errors call by the given name.
func (a argument) bound(name string) (string, error) {
	hex, hasPrefix := strings.CutPrefix(a.text, "0x")
	invalid := strings.TrimLeft(hex, "0123456789abcdef")
	switch {
	case !a.isLiteral:
		return "", fmt.Errorf("%s must be a string literal (e.g. '0xff'), got expression kind %d", name, a.kind())
	case !hasPrefix:
		return "", fmt.Errorf("%s must have '0x' prefix, got %q", name, a.text)
	case hex == "":
		return "", fmt.Errorf("%s: hex value is required after '0x'", name)
	case len(hex) > digits+1:
		return "", fmt.Errorf("%s: hex value too long (%d chars, max %d): %q", name, len(hex), digits+1, hex)
	case invalid != "":
		return "", fmt.Errorf("%s: invalid hex character %q in %q", name, string([]rune(invalid)[0]), a.text)
	case len(hex) < digits:
		padded := "0x" + strings.Repeat("0", digits-len(hex)) + hex
		return "", fmt.Errorf("%s must be a 0x-prefixed 16-digit hex value, got %q (did you mean %q?)", name, a.text, padded)
	case len(hex) > digits && a.text != end:
		return "", fmt.Errorf("%s: 17-digit hex value must be '%s' (2^64), got %q", name, end, a.text)
	}
	return a.text, nil
}

// kind returns the kind of a path.
func (a argument) kind() int {
	if strings.Contains(a.text, ".") {
		return kindPath
	}
	return kindName
}
