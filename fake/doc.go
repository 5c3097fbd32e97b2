// Package fake holds test doubles of a Kubernetes API server.
//
// [ListerWatcher] is for unit tests: one collection of one type, in memory, which lists and watches with real resourceVersions and fails when it is told
// to. It runs inside a testing/synctest bubble.
//
//	lw := fake.NewListerWatcher(&corev1.Pod{})
//	pod := lw.Create(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}})
//	lw.FaultLists(2, fake.Fault{Err: fake.TooManyRequests(7)})
//	// start what is tested, then
//	lw.Delete("default/a")
//	lw.CloseWatches()
//
// The package does not import testing, so that examples and benchmarks may use it too.
package fake
