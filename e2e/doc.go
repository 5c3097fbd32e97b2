// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package e2e has the tests against a real kube-apiserver and etcd, which package cluster builds
// and runs. The tests in files named server_* use client-go alone and check the server's behavior,
// on which the other tests rely. If the environment variable KUBEBUILDER_ASSETS is set, the
// kube-apiserver and etcd of that folder, of any release, are used instead.
//
// Tests that only use the API share one cluster, each in its own namespace. Tests that stop,
// compact or restore a server use their own cluster. Tests of sharded lists and watches add a
// second kube-apiserver, which has the feature gate: see sharedShardServers and newShardServers.
package e2e
