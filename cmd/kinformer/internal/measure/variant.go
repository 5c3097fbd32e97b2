// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"fmt"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinformer/kinformer/internal/testing/footprint"
)

// Variant is an informer to measure, by the name that the command prints.
type Variant string

// The variants, each with a handler and an index by namespace.
const (
	// ClientGo lists, as client-go does with the feature gate WatchListClient disabled.
	ClientGo Variant = "client-go"
	// ClientGoWatchList streams the objects in the watch, which is client-go's default if the
	// server supports it.
	ClientGoWatchList Variant = "client-go, WatchList"

	Live          Variant = "kinformer"
	ShareEqual    Variant = "kinformer, ShareEqual"
	Omitted       Variant = "kinformer, managedFields omitted"
	Packed        Variant = "kinformer, packed" // with a key handler
	PackedOmitted Variant = "kinformer, packed, managedFields omitted"
)

// Variants returns all variants in the order of a table.
func Variants() []Variant {
	return []Variant{ClientGo, ClientGoWatchList, Live, ShareEqual, Omitted, Packed, PackedOmitted}
}

// storage returns how a variant of this project's informers stores objects. It returns false for
// client-go's.
func (v Variant) storage() (footprint.Storage, bool) {
	managedFields := []string{"metadata.managedFields"}
	storage, ok := map[Variant]footprint.Storage{
		Live:          {},
		ShareEqual:    {ShareEqual: true},
		Omitted:       {OmitFields: managedFields},
		Packed:        {Packed: true},
		PackedOmitted: {Packed: true, OmitFields: managedFields},
	}[v]
	return storage, ok
}

// check returns an error for a variant that does not exist.
func (v Variant) check() error {
	if !slices.Contains(Variants(), v) {
		return fmt.Errorf("unknown variant %q", v)
	}
	return nil
}

// environment returns the whole environment of a child process.
func (v Variant) environment() []string {
	return []string{"KUBE_FEATURE_WatchListClient=" + strconv.FormatBool(v == ClientGoWatchList)}
}

// informer returns the informer of a variant.
func (v Variant) informer(url, token string, resource schema.GroupVersionResource, kind string) (*footprint.Informer, error) {
	config := footprint.Config(url, token)
	if storage, ok := v.storage(); ok {
		return footprint.Kinformer(config, resource, kind, storage)
	}
	return footprint.ClientGo(config, resource, kind)
}

// Accepts returns the content types, as in an Accept header, in which the informers of a kind read
// its objects.
func Accepts(kind schema.GroupVersionKind) string {
	if footprint.HasType(kind) {
		return runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	}
	return runtime.ContentTypeJSON
}
