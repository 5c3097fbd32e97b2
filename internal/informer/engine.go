// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"context"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/reflector"
	"github.com/kinformer/kinformer/internal/scope"
	"github.com/kinformer/kinformer/internal/scoped"
	"github.com/kinformer/kinformer/internal/store"
)

// Engine is an *Informer, whatever the type of its objects.
type Engine interface {
	Run(ctx context.Context) error
	HasSynced() bool
	StoreHasSynced() bool
	WaitForSync(ctx context.Context) error
	WaitForResourceVersion(ctx context.Context, version string) error
	WaitForDelete(ctx context.Context, key, uid string) error
	HasStopped() bool
	Reflector() Loop
	Scopes() Scopes
	Contents() Contents
	OmitFieldsNotFound() []string
	Handlers() []HandlerStatus
	ID() uint64
	UniqueName(name string) string
	Changes() uint64
	Indexes() map[string]int
	FindKeys(text string, limit int) (keys []string, found int)
	Value(key string) (value any, exists bool, err error)
}

// Loop feeds a store: a reflector, or those of the scopes of an informer. Run is called once.
type Loop interface {
	Run(ctx context.Context) error
	Status() reflector.Status
	Phase() reflector.Phase
	Synced() <-chan struct{}
	LastSyncResourceVersion() string
}

// Scopes is a *scoped.Loop, whatever the type of its objects.
type Scopes interface {
	Loop
	ScopeStatus() []scoped.ScopeStatus
	StatusOfScope(name scope.Scope) (status scoped.ScopeStatus, held bool)
	LacksScopes() bool
	CoverageOf(key, uid string) scoped.Coverage
	AbsentError(key, why string) error
	WaitForScope(ctx context.Context, name scope.Scope) error
	WaitForScopeVersion(ctx context.Context, name scope.Scope, version string) error
	WaitForScopesOf(ctx context.Context, version string, matches func(scope.Scope) bool) error
}

// Contents is a *store.Store, whatever the type of its objects.
type Contents interface {
	Len() int
	KeyError(key string) error
	QuarantineSize() (keys, unnamed int)
	QuarantinedKeys(limit int) []store.KeyFailure
	PackedBytes() int64
	IndexErrors() map[string]uint64
}

// Source says how an informer's objects are read; see package source.
type Source interface {
	Mode() (streaming bool, reason string)
	Traffic() feed.Traffic
}

// NewController returns the *cache.Controller of an informer of package clientgo. Package cache sets it.
var NewController func(Adapted) any //nolint:gochecknoglobals // set once, before main

// Adapted is an informer of package clientgo as package cache sees it.
type Adapted struct {
	Name    string
	Invalid error // why it cannot be used, if so
	Engine  Engine
	Source  Source
	Kind    string // of the objects, empty if it is not known
	Key     func(obj any) (string, error)
	Scopes  *scope.Set // nil if it has none
}
