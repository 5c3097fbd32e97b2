// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package cache keeps local copies of collections of Kubernetes objects up to date and delivers
// changes to handlers.
//
// [NewInformer] returns a store of the objects that a [ListWatch] selects, and a controller that
// keeps the store equal to the collection and calls a handler for each addition, update and
// deletion:
//
//	nodes := cache.ListWatchOf(clientset.CoreV1().Nodes())
//	store, controller := cache.NewInformer(nodes, &corev1.Node{}, 0,
//		cache.ResourceEventHandlerFuncs[*corev1.Node]{
//			AddFunc: func(node *corev1.Node) { fmt.Println("added", node.Name) },
//		})
//	err := controller.Run(ctx)
//
// # Shared informers
//
// A [SharedInformer] has options and any number of handlers, which may be added and removed while
// it runs.
//
//	pods := cache.NewSharedInformer(cache.ListWatchOf(clientset.CoreV1().Pods("")), &corev1.Pod{},
//		cache.InformerOptions[*corev1.Pod]{})
//	registration, err := pods.AddKeyHandler(func(event cache.KeyEvent) { queue.Add(event.Key) }, cache.HandlerOptions{})
//	go pods.Run(ctx)
//	syncing, cancel := context.WithTimeout(ctx, time.Minute)
//	defer cancel()
//	err = pods.WaitForSync(syncing) // after a minute, the cause, such as Forbidden
//
// A [Factory] shares one informer among all users of the same objects and runs it while it is used.
// A [Group] runs several informers or factories and waits for all of them. [RunAll] runs them
// beside other parts of a program:
//
//	var informers cache.Group
//	informers.Add(pods, nodes)
//	err := cache.RunAll(ctx, informers.Run, runWorkers) // runWorkers first calls informers.WaitForSync
//
// # Selecting objects
//
// The client of a ListWatch selects a namespace, as CoreV1().Pods("default") does, and
// [WithLabelSelector] and [WithFieldSelector] select objects on the server. InformerOptions.Filter
// selects objects in the informer, by conditions that no selector can express. With [Scopes], an
// informer holds parts of a collection, such as some namespaces, which may be added and removed
// while it runs.
//
// # Reading
//
// A [Reader] finds objects by key and by index, and a [Lister] by name and labels. A [Snapshot] is
// the state of a store at one moment.
//
// All readers and handlers share the objects, which belong to the cache: a program must copy an
// object (DeepCopy) before it changes it. The option DetectMutations reports writes into cached
// objects.
//
// # Waiting and observing
//
// WaitForObject, WaitForDelete and WaitForResourceVersion block until the store has seen a write, a
// deletion or a version. A controller with a work queue need not block: it notes its writes in a
// [ConsistencyStore], which adds a key to the queue once the informers have the key's writes; see
// docs/stale-reads.md.
//
// Status and HealthCheck report how fresh the store is, and the error of a list or watch.
// StatusChanged returns a channel that is closed when the status changes, so that a program need
// not poll. A [Group] also shows its informers to packages metrics and debug.
//
// # Memory
//
// With [EnableStreaming], an informer splits a response into objects as it arrives, instead of
// decoding a list as a whole. The option OmitFields cuts fields out of the response. Packed stores
// objects as bytes, in a fraction of the memory, and ShareEqual lets objects share equal parts.
//
// A program that reads a few fields of its objects keeps a [PartialObject]. docs/memory.md compares
// all of these.
//
// # Reflectors and stores
//
// The part of an informer that lists, watches, and lists again (relists) when the watch cannot be
// resumed is a [Reflector]. A program may use one without an informer, to write to a [Store], to an
// [UndeltaStore], which passes its whole content on after each write, or to a [ReflectorStore] of
// its own.
//
// # Guarantees
//
//   - The store has a change before a handler receives it.
//   - A handler is called by one goroutine at a time, with the events of each object in order, and
//     delays no other handler. A handler that is far behind receives coalesced updates unless it
//     asks for every event (HandlerOptions.EveryEvent).
//   - A deletion carries the object's last known state (Event.Final), never a tombstone
//     (client-go's DeletedFinalStateUnknown).
//   - An object that was deleted and recreated under its name is delivered as a deletion and an
//     addition.
//   - A relist replaces the store's content atomically for every [Snapshot] (with Scopes, that of a
//     scope in parts), and emits no event for objects whose UID and resourceVersion did not change.
//     If the server is at an older resourceVersion than before, as after a restore of etcd, the
//     objects themselves are compared.
//   - On any failure the last good state stays readable. Status returns the error of a list or
//     watch and when it began.
//   - An object whose newest state cannot be stored does not look deleted: it is read as its last
//     good state or, if there never was one, a Lister's Get returns an error that wraps
//     [ErrNotStored]. The cause goes to the ErrorHandler, and Status names the object. For objects
//     that cannot be decoded, this requires [EnableStreaming].
//
// docs/contract.md lists all guarantees with the tests that hold them. docs/migrating.md says what
// to use for each name of client-go's tools/cache. The terms resourceVersion, bookmark and 410 Gone
// are those of
// https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes.
package cache
