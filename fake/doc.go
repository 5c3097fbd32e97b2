// Package fake provides test doubles of a Kubernetes API server.
//
// A [ListerWatcher] is for unit tests. It is one collection of one type in memory, with the methods
// List and Watch, and injects faults. It works inside a testing/synctest bubble.
//
//	lw := fake.NewListerWatcher(&corev1.Pod{})
//	pod := lw.Create(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}})
//	lw.InjectListFault(2, fake.Fault{Err: fake.TooManyRequests(7)})
//	// start the code under test, then
//	lw.Delete("default/a")
//	lw.CloseWatches()
//
// An [APIServer] is for tests with clients. It is an HTTP server on a loopback port that serves
// unmodified clients, kubectl among them: typed, dynamic and metadata clients, in JSON or protobuf.
// Its responses are those of kube-apiserver; package internal/conformance compares the two.
//
//	server, err := fake.StartAPIServer(fake.APIServerOptions{})
//	...
//	defer server.Close(ctx)
//	client := kubernetes.NewForConfigOrDie(server.Config())
//	// write through the client or, without HTTP, through the server:
//	err = server.Create(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}})
//	isWatch := func(r fake.APIRequest) bool { return r.Verb == "watch" }
//	server.InjectFault(1, isWatch, fake.RequestFault{CutAfterBytes: 1000})
//
// Both keep a bounded history of changes, assign increasing resourceVersions, and serve lists and
// watches with the same code, in internal/history.
//
// The package does not import testing, so examples and benchmarks may use it too.
package fake
