// Package snapmap is the map under kinformer's store: one writer, readers
// without locks, snapshots in O(1), writes in place until somebody takes one.
package snapmap
