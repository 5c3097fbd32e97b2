// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"github.com/kinformer/kinformer/internal/codec"
	"github.com/kinformer/kinformer/internal/feed"
)

// For the tests of package source_test.
const (
	ReasonKindAfterItems = reasonKindAfterItems
	ReasonKindName       = reasonKindName
)

var ErrNoKind = errNoKind

// NewDecoded returns a source that never streams.
func NewDecoded(lw ListerWatcher, objects codec.ObjectType) feed.Source {
	return New(Config{ListerWatcher: lw, Objects: objects}).Source
}

// IsDisabled reports whether streaming was given up.
func (s Source) IsDisabled() bool { return s.mode.isDisabled() }
