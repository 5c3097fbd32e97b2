// Package fake holds test doubles of a Kubernetes API server.
//
// [ListerWatcher] is for unit tests: one collection of one type, in memory, which lists and watches with real resourceVersions and fails when it is told
// to. It runs inside a testing/synctest bubble.
//
//	lw := fake.NewListerWatcher(&corev1.Pod{})
//	pod := lw.Create(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}})
//	lw.InjectListFault(2, fake.Fault{Err: fake.TooManyRequests(7)})
//	// start what is tested, then
//	lw.Delete("default/a")
//	lw.CloseWatches()
//
// [APIServer] is for everything with a client in it: an HTTP server on a loopback port that unmodified clients can talk to, kubectl among them, typed,
// dynamic and metadata, over JSON or protobuf. It answers as a kube-apiserver does: package internal/conformance asks both the same and compares.
//
//	server, err := fake.StartAPIServer(fake.APIServerOptions{})
//	...
//	defer server.Close(ctx)
//	client := kubernetes.NewForConfigOrDie(server.Config())
//	err = server.Create(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}) // or through the client
//	server.InjectFault(1, func(r fake.APIRequest) bool { return r.Verb == "watch" }, fake.RequestFault{CutAfterBytes: 1000})
//
// Both remember a bounded history, count resourceVersions and answer lists and watches by the same code, internal/history.
//
// The package does not import testing, so that examples and benchmarks may use it too.
package fake
