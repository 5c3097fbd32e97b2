// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package cluster runs a real kube-apiserver and etcd for tests, on loopback ports of their own:
//
//	c := cluster.New(t, cluster.Options{})          // stopped at the end of the test
//	clientset := kubernetes.NewForConfigOrDie(c.Config())
//	...
//	c.APIServer().Restart(ctx)                      // or Kill, Stop, Start; c.Etcd() likewise
//	replica, err := c.AddAPIServer(ctx, "--flag")   // a replica with other flags, on the same etcd
//	replica.Cut(); replica.Mend()                   // the replica's connections to etcd
//	backup, err := c.Backup(ctx); ...; c.Restore(ctx, backup)
//	c.Compact(ctx)                                  // removes all history from etcd
//	c.Put(ctx, "pods/ns/name", "v1", "Pod", pod)     // unchanged, without the API
//
// The cluster has no controllers and no kubelets: nothing happens that the test does not do. The
// deletion of a namespace never completes, Pods stay where they are bound, and Nodes are ready if
// the test reports it (see package objects).
//
// The servers are stopped by their process handles at the end of the test, and on Linux by the
// kernel if the test process is killed. Their logs are in a temporary folder. A failed test keeps
// it and prints the last lines of each log.
package cluster
