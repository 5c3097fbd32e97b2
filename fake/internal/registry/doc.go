// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package registry implements the API server's create, get, list, watch, update, patch and delete
// of objects on top of package history. It assigns names, UIDs and resourceVersions, detects
// conflicts, and handles generations, status, finalizers and graceful deletion.
//
// The registry validates an object's metadata with apimachinery's own validation, its name by the
// rules of its kind, custom resources by their schemas, and nothing else. Of the admission plugins
// it has NamespaceLifecycle: nothing is created in a Namespace that is being deleted, and nothing
// is created or updated in one that was removed. Unlike on a real server, a Namespace that was
// never created need not exist.
//
// It prunes and defaults custom resources by their schemas (package structural): writes by that of
// the served version and then by that of the stored version, and reads only after a change of the
// schema or in a version with another one. Between the two it validates a write, in the served
// version, together with the metadata: checkNew before the name is known to be free, checkNext
// after the resourceVersion is known to be current.
//
// Every write of a built-in object sets its defaults, with package defaults, whatever its mode:
// create after the metadata, update before the object is compared with the stored one. What depends
// on other objects is in defaults.go and service.go: the priority of a Pod, and the addresses and
// node ports of a Service.
//
// What a mutating webhook would change, Caller.Edit does: after the defaults and the merge of
// managedFields, in which its changes are not, and before prepare and the validation.
//
// A Store that For returns writes for a Caller, which managedFields record. fieldManagers in
// managedfields.go are the field managers of apimachinery for one resource. They work on objects in
// the served version, in which prepare has reset what the write does not change, such as the
// status. Their merge takes up to milliseconds: an update does it before it takes the lock of the
// memory, and again with the lock only if the object has been replaced meanwhile. Apply in apply.go
// merges with the current object and then updates it as a patch does.
//
// No controllers run. A Pod that is deleted with a grace period keeps its deletionTimestamp until a
// client deletes it with grace period 0, as a kubelet does. A deleted Namespace stays until a
// client removes its finalizer through the subresource finalize.
//
// What a real server's controllers do with CustomResourceDefinitions and APIServices, the registry
// does before the write returns. After each write to a definition, and to an object of one that is
// being deleted, reconcile in definition.go serves what the definition says; after each write to an
// APIService, reconcileAPIService in apiservice.go serves or withdraws an aggregated API. The lock
// of such writes, Registry.reconciling, precedes Registry.mu and the lock of the memory. Requests
// wait for it at their beginning: a client that has received the event of a write finds its
// effects. A store that is no longer served is withdrawn, which ends its watches.
package registry
