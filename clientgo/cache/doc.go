// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package cache has the exported names of client-go's package tools/cache. Its constructors of
// informers and reflectors, NewStore and NewIndexer make those of package [clientgo] with the zero
// [clientgo.Options]. ShutDownEventHandler is this package's, too. New and all other names are
// client-go's. A program changes its import:
//
//	import "k8s.io/client-go/tools/cache"                // before
//	import "github.com/kinformer/kinformer/clientgo/cache" // after
//
// For other options, see [clientgo.With]. docs/adopting.md shows each way to change a program, and
// lists the differences from client-go.
//
// The constructors of reflectors return a *[clientgo.Reflector], which has the methods of
// client-go's type. Reflector is still client-go's type, since watch error handlers take it: a
// variable or field for the result of a constructor must change its type. The names that client-go
// has since v0.37, such as TypedSharedIndexInformer, are missing (except ShutDownEventHandler), as
// v0.36 is supported too; a program that uses them imports client-go's package beside this one.
package cache
