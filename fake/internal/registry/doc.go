// Package registry is what an API server does with objects: names, identities, versions, conflicts, generations, status, finalizers and graceful
// deletion, on top of a server's memory.
//
// It checks an object's metadata with apimachinery's own validation and nothing else of it, applies no defaults, runs no admission, tracks no
// managedFields, and needs no Namespace to exist; one that exists and is being deleted takes no new objects.
//
// There are no controllers: a Pod bound to a node that is deleted with a grace period stays, marked, until somebody deletes it with none, as a
// kubelet does; a Namespace stays until its finalizer is removed through the subresource finalize.
package registry
