// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"context"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/scope"
)

// Source counts what an informer requests; see package source.
type Source interface {
	Status() feed.RequestStatus
}

// Adapted is an informer of package clientgo, for which cache.NewAdaptedController makes a
// Controller.
type Adapted struct {
	Name    string
	Invalid error // why it cannot be used, if so
	Engine  *Informer
	Run     func(ctx context.Context) error
	Source  Source
	Kind    string // of the objects, empty if it is not known
	Key     func(obj any) (string, error)
	Scopes  *scope.Set // nil if it has none
}
