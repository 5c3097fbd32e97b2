// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package child

// The sides. Each is an informer as a program would use it: on all objects of a type, with a
// handler, from a client that prefers protobuf.
const (
	Kinformer        = "kinformer"
	WithoutStreaming = "kinformer without EnableStreaming"
	Uncompressed     = "kinformer, DisableCompression"
	ShareEqual       = "kinformer, ShareEqual"
	Packed           = "kinformer, packed"                 // with key handlers
	PackedByNode     = "kinformer, packed, index by field" // with key handlers
	Omitting         = "kinformer, managedFields omitted"
	OmittingPacked   = "kinformer, packed, managedFields omitted" // with key handlers

	// Informers of PartialObjects with PodFields.
	Partial           = "kinformer, PartialObject"
	PartialShareEqual = "kinformer, PartialObject, ShareEqual"
	PartialPacked     = "kinformer, PartialObject, packed" // with key handlers

	// Informers of PartialObjects without fields, which have metadata only.
	Metadata           = "kinformer, PartialObject without fields"
	MetadataShareEqual = "kinformer, PartialObject without fields, ShareEqual"
	MetadataPacked     = "kinformer, PartialObject without fields, packed" // with key handlers

	ClientGo          = "client-go"            // with the feature gate WatchListClient disabled
	ClientGoWatchList = "client-go, WatchList" // with the gate enabled, which is the default
	// ClientGoStripped has a transform that clears managedFields.
	ClientGoStripped = "client-go, managedFields stripped"
	// ClientGoCleared has a transform that clears managedFields and all fields of spec and status
	// that PodFields lacks.
	ClientGoCleared = "client-go, other fields cleared"

	// ControllerRuntime is controller-runtime's cache of several namespaces.
	ControllerRuntime = "controller-runtime"

	// An informer of each namespace. Those of package clientgo are made by the import alone.
	Informers         = "kinformer, informers"
	PackedInformers   = "kinformer, packed informers" // with key handlers
	AdapterInformers  = "clientgo, informers"
	ClientGoInformers = "client-go, informers"
	// With StartAny, as package clientgo and client-go start by default.
	InformersStartAny       = "kinformer, informers, StartAny"
	PackedInformersStartAny = "kinformer, packed informers, StartAny" // with key handlers
	// With an index by the node's name beside that by namespace.
	PackedInformersByNode   = "kinformer, packed informers, index by node" // with key handlers
	ClientGoInformersByNode = "client-go, informers, index by node"

	// ClientGoFilteringStore is client-go's Reflector with a store that keeps a replica's own
	// objects. ClientGoFilteringHandler is an informer of all objects whose handler passes over the
	// others.
	ClientGoFilteringStore   = "client-go, filtering store"
	ClientGoFilteringHandler = "client-go, filtering handler"

	// Package clientgo's informers, in the program of ClientGo.
	Adapter       = "clientgo"
	AdapterPacked = "clientgo, packed"
	// Imported is made by the import alone: without a call of EnableStreaming.
	Imported = "clientgo, by the import alone"

	// PrefersCBOR is Kinformer with the feature gates that make dynamic clients prefer CBOR.
	PrefersCBOR = "kinformer, CBOR preferred"

	// A packed informer with event handlers, and client-go's, and a Get after each event.
	PackedReconciler   = "kinformer, packed, with a reconciler"
	ClientGoReconciler = "client-go, with a reconciler"

	// Kinformer in the two list modes.
	List      = "List"
	WatchList = "WatchList"
)
