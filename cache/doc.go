// Package cache keeps local copies of collections of Kubernetes objects up to date and delivers
// changes to handlers.
//
// A [ListWatch] made of a list and a watch function feeds a [Reflector], which lists, watches, and
// lists again when the watch cannot be resumed, and which writes to a [Store] or an [UndeltaStore].
// [NewInformer] connects a ListWatch, a reflector and a store, and calls a handler for each
// addition, update and deletion:
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
// it runs. A [Factory] shares one informer among all users of the same objects and runs it while it
// is used.
//
//	pods := cache.NewSharedInformer(cache.ListWatchOf(clientset.CoreV1().Pods("")), &corev1.Pod{},
//		cache.InformerOptions[*corev1.Pod]{})
//	registration, err := pods.AddKeyHandler(func(event cache.KeyEvent) { queue.Add(event.Key) }, cache.HandlerOptions{})
//	go pods.Run(ctx)
//	err = pods.WaitForSync(ctx)
//
// A [Lister] reads a store by names and labels. Status and HealthCheck report how fresh the store
// is. WaitForObject, WaitForDelete and WaitForResourceVersion block until it has seen a write, a
// deletion or a version. The option Packed stores objects as bytes, in a fifth (Nodes) to a
// twenty-fifth (Pods) of the memory; ShareEqual shares their equal parts; DetectMutations reports
// writes into cached objects.
//
// # Objects belong to the cache
//
// All readers and handlers share the objects of a [Reader]: a program must copy an object
// (DeepCopy) before it changes it. Objects in an [UndeltaStore] belong to the store's owner.
//
// # Guarantees
//
//   - The store has a change before a handler receives it.
//   - A handler receives one event at a time, in order for each object, and delays no other
//     handler. A handler that is far behind receives coalesced updates ([CoalesceWhenBehind])
//     unless it asks for every event.
//   - A deletion carries the object's last known state, never a tombstone.
//   - An object that was deleted and recreated under its name is a deletion and an addition.
//   - A relist replaces the store's content atomically for every [Snapshot], and emits no event for
//     objects whose UID and resourceVersion did not change. (After the server has gone back in
//     time, it compares the objects themselves.)
//   - On any failure the last good state stays readable. Status returns the error of a list or
//     watch and when it began.
//   - An object whose newest state cannot be stored does not look deleted: it is read as its last
//     good state or, if there never was one, a Lister's Get returns an error that wraps
//     [ErrNotStored]. The cause goes to the ErrorHandler, and Status names the object. This
//     requires [EnableStreaming] for objects that cannot be decoded: without it the client refuses
//     the whole list, and WaitForSync returns the error of the client's decoder.
//
// docs/contract.md lists all guarantees with the tests that hold them. docs/migrating.md says what to
// use for each name of client-go's tools/cache.
package cache
