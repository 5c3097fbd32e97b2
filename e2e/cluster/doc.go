// Package cluster runs a real kube-apiserver and etcd for tests, on loopback ports of their own:
//
//	c := cluster.New(t, cluster.Options{})          // ends with the test
//	clientset := kubernetes.NewForConfigOrDie(c.Config())
//	...
//	c.APIServer().Restart(ctx)                      // or Kill, Stop, Start; c.Etcd() likewise
//	backup, err := c.Backup(ctx); ...; c.Restore(ctx, backup)
//	c.Compact(ctx)                                  // history before now is gone from etcd
//	c.Put(ctx, "pods/ns/name", "v1", "Pod", pod)     // as it is, past the API
//
// There is no controller and no kubelet: nothing happens that the test does not do. Namespaces never finish to be
// deleted, Pods stay where they are bound, Nodes are ready because somebody says so (package objects does).
//
// The servers are ended by their process handles, whatever the test's outcome, and on Linux by the kernel when the test
// process is killed. Their logs are in a temporary folder, which a failed test keeps, and prints the ends of.
package cluster
