// Package e2e holds the tests against a real kube-apiserver and etcd, which package cluster builds and runs. Files whose
// names begin with server_ establish, with client-go alone, what the server does; the others rely on it.
//
// Tests that only use the API share one cluster, each in a namespace of its own; tests that stop, compact or restore
// something have a cluster of their own.
package e2e
