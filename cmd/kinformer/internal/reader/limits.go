// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package reader

import "errors"

// Limits bounds what is read. Zero means no bound.
type Limits struct {
	// Objects and Bytes bound all resources of a Reader together.
	Objects int64
	Bytes   int64
	// Memory bounds the memory that one resource takes, as MemoryFor returns it.
	Memory    int64
	MemoryFor func(objects, bytes int64, contentType string) int64
}

// Errors of a read that exceeds a limit.
var (
	ErrTooMany   = errors.New("larger than estimated, and than the limit for the number of objects or bytes")
	ErrTooLittle = errors.New("too little memory")
)

// check returns an error if a resource with these objects and bytes exceeds a limit, after all that
// was received of others.
func (l *Limits) check(others, r Received, contentType string) error {
	switch {
	case l.Objects > 0 && others.Objects+r.Objects > l.Objects, l.Bytes > 0 && others.Bytes+r.Bytes > l.Bytes:
		return ErrTooMany
	case l.Memory > 0 && l.MemoryFor(r.Objects, r.Bytes, contentType) > l.Memory:
		return ErrTooLittle
	}
	return nil
}
