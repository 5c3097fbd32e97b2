// Package cache keeps local, always-current copies of Kubernetes objects and
// tells handlers what changed.
//
// A [ListWatch] of a list and a watch function feeds a [Reflector], whose
// ListAndWatch loop relists when a watch cannot be resumed, and which pushes into
// a [Store] or an [UndeltaStore]. [NewInformer] joins the three and calls a
// handler on each addition, update and deletion:
//
//	nodes := cache.ListWatchOf(clientset.CoreV1().Nodes())
//	store, controller := cache.NewInformer(nodes, &corev1.Node{}, 0,
//		cache.ResourceEventHandlerFuncs[*corev1.Node]{
//			AddFunc: func(node *corev1.Node) { fmt.Println("joined:", node.Name) },
//		})
//	err := controller.Run(ctx)
//
// # Shared informers
//
// A [SharedInformer] has any number of handlers, which come and go while it runs, and
// options. A [Factory] has one for each scope that somebody claims.
//
//	pods := cache.NewSharedInformer(cache.ListWatchOf(clientset.CoreV1().Pods("")), &corev1.Pod{},
//		cache.InformerOptions[*corev1.Pod]{})
//	registration, err := pods.AddKeyHandler(queue.Add, cache.HandlerOptions{})
//	go pods.Run(ctx)
//	err = pods.WaitForSync(ctx)
//
// A [Lister] reads its store as the API is read. How fresh that is, Status and HealthCheck
// say; WaitForObject and WaitForResourceVersion wait until a write is seen. Packed keeps
// objects as bytes, in a twentieth of the memory; ShareEqual shares their equal parts;
// DetectMutations names who writes into them.
//
// # Objects belong to the cache
//
// What a [Reader] returns and a handler receives is shared by all who ask: copy
// an object (DeepCopy) before changing it. The objects of an [UndeltaStore] are
// the exception.
//
// # What holds
//
//   - A change is in the store before a handler hears of it.
//   - A handler is called for one event at a time, in order for each key, and nobody
//     else waits for it. One that is far behind is told several updates of an object as
//     one ([MergeWhenBehind]), unless it wants every event.
//   - A deletion always shows the object's last known state: there are no
//     tombstones to unwrap.
//   - An object deleted and created again under its name is a deletion and an
//     addition, never an update.
//   - A relist changes the store at once, for every [Snapshot]; objects whose UID
//     and resourceVersion have not changed make no event.
//   - Whatever fails, the last good state stays readable, and Status says what is wrong
//     and since when.
//
// docs/contract.md has all of it, with the tests that hold it.
package cache
