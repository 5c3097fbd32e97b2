// Package registry is what an API server does with objects: names, identities, versions, conflicts, on top of a server's memory.
//
// It does not validate objects beyond their metadata, applies no defaults, runs no admission and needs no Namespace to exist. The status of
// a created object is kept, where some real types clear it.
package registry
