package informer

import (
	"context"

	"github.com/kinformer/kinformer/internal/reflector"
	"github.com/kinformer/kinformer/internal/store"
)

// Engine is an *Informer, whatever the type of its objects.
type Engine interface {
	Run(ctx context.Context) error
	HasSynced() bool
	WaitForSync(ctx context.Context) error
	WaitForResourceVersion(ctx context.Context, version string) error
	WaitForDelete(ctx context.Context, key, uid string) error
	KeyError(key string) error
	QuarantinedKeys(limit int) []store.KeyFailure
	Unkeyed() int
	OmitFieldsNotFound() []string
	Reflector() *reflector.Reflector
	Handlers() []HandlerStatus
	Size() (objects, quarantined int)
	PackedSize() (packed, hot int64, hotObjects int)
}

// Adapted is an informer of package clientgo as package cache sees it.
type Adapted struct {
	Name    string
	Invalid error // why it cannot be used, if so
	Engine  Engine
	Mode    func() (streaming bool, reason string) // see source.Source
	Key     func(obj any) (string, error)
}
