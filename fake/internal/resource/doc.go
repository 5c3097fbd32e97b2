// Package resource is the table of the resources that an API server serves.
//
// The table of the built-in ones is read off client-go's clientset: a method Nodes() that returns something with a List is a cluster-scoped
// resource "nodes", a method Pods(namespace) a namespaced one, and whatever has UpdateStatus has a status subresource. So it is complete and right
// for every version of client-go that this module is built with.
package resource
