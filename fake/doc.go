// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package fake provides test doubles of a Kubernetes API server.
//
// A [ListerWatcher] is for unit tests. It is one collection of one type in memory, with the methods
// List and Watch, and injects faults. The code under test reads it directly, or through a fake
// clientset of client-go ([ListerWatcher.Serve]).
//
//	lw := fake.NewListerWatcher(&corev1.Pod{})
//	pod := lw.Create(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}})
//	lw.InjectListFault(2, fake.Fault{Err: fake.TooManyRequests(7)})
//	// start the code under test, then
//	lw.Delete("default/a")
//	lw.CloseWatches()
//
// It works inside a testing/synctest bubble, in which an outage of an hour takes no time, and
// synctest.Wait returns once the informer has nothing left to do:
//
//	func TestOutage(t *testing.T) {
//		synctest.Test(t, func(t *testing.T) {
//			pods := fake.NewListerWatcher(&corev1.Pod{})
//			informer := cache.NewSharedInformer(pods, &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{})
//			ctx, cancel := context.WithCancel(t.Context())
//			stopped := make(chan error)
//			go func() { stopped <- informer.Run(ctx) }()
//			synctest.Wait() // the watch is open
//
//			pods.InjectListFault(-1, fake.Fault{Err: fake.InternalError()})
//			pods.InjectWatchFault(-1, fake.Fault{Err: fake.InternalError()})
//			pods.CloseWatches()
//			time.Sleep(time.Hour) // on the bubble's clock
//			pods.ClearFaults()
//			...
//			cancel()
//			if err := <-stopped; err != nil {
//				t.Error(err)
//			}
//		})
//	}
//
// bubble_test.go in the folder of this package has the whole test, and examples/testing tests of a
// controller: https://github.com/kinformer/kinformer/tree/main/examples/testing.
//
// An [APIServer] is for tests with clients. It is an HTTP server on a loopback port that serves
// unmodified clients, kubectl among them: typed, dynamic and metadata clients, in JSON or protobuf.
// Objects have the defaults of kube-apiserver, so that controllers can rely on them. It keeps
// managedFields, serves server-side apply, and prunes, defaults and validates custom resources by
// their schemas: a write that kube-apiserver would refuse with 422 is refused here, too, with the
// same causes. Only x-kubernetes-validations, the rules in CEL, are not evaluated, which the server
// logs once for each definition. Its documentation, and package test/conformance of the repository,
// say in what its responses differ from those of kube-apiserver.
//
//	server, err := fake.StartAPIServer(fake.APIServerOptions{})
//	...
//	defer server.Close(ctx)
//	client := kubernetes.NewForConfigOrDie(server.Config())
//	// write through the client or, without HTTP, through the server:
//	err = server.Create(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}})
//	isWatch := func(r fake.APIRequest) bool { return r.Verb == "watch" }
//	server.InjectFault(1, isWatch, fake.Fault{CutAfterBytes: 1000})
//
// An APIServer with a port does not work inside a bubble: a goroutine that waits for the network is
// not durably blocked. One with the option InMemory does. It has no port, and the clients of its
// Config reach it through pipes:
//
//	synctest.Test(t, func(t *testing.T) {
//		server, err := fake.StartAPIServer(fake.APIServerOptions{InMemory: true})
//		...
//		defer server.Close(t.Context())
//		client := kubernetes.NewForConfigOrDie(server.Config())
//		...
//	})
//
// With the option NoWatchTimeout, watches do not expire, however long the bubble's clock runs.
//
// A ListerWatcher and an APIServer both keep a bounded history of changes and assign increasing
// resourceVersions. Both ignore metav1.ListOptions.ShardSelector unless SetShardedListAndWatch has
// switched it on. The package does not import testing, so that examples and programs may use it,
// too.
package fake
