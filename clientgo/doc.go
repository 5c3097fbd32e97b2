// Package clientgo implements the interfaces of client-go's tools/cache on this project's
// informers, for programs that exist: whoever makes a SharedIndexInformer by calling
// client-go makes it here instead, and nothing else changes.
//
//	informer := clientgo.NewSharedIndexInformer(listWatch, &corev1.Pod{}, 0, indexers)
//
// The same goes for whole factories, [NewSharedInformerFactory],
// [NewDynamicSharedInformerFactory], [NewMetadataSharedInformerFactory], and for
// controller-runtime, whose cache takes a function: see [Options.NewInformer].
//
// # What is different
//
// client-go's documented contract holds; docs/contract.md says by which test. What
// programs may notice:
//
//   - Objects that a relist finds unchanged make no update event ([Options].RelistUpdates
//     has client-go's way).
//   - An object deleted and created again under its name is a deletion and an addition.
//     client-go makes an update of it.
//   - An object that cannot be decoded, transformed or indexed is reported and keeps its
//     last good state. In client-go an index function's error ends the process, a
//     transform's a whole list.
//   - What a program itself writes into an informer's store is told to handlers as a change.
//   - A handler's resync period is its own, whatever that of the others.
//   - Readers do not stop writers, and an informer that is stopped while a request hangs
//     stops.
//   - client-go's metrics count watch events; a list is not counted.
//     KUBE_CACHE_MUTATION_DETECTOR works as ever.
//
// The package compiles with client-go v0.36 and v0.37.
package clientgo
