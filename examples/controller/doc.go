// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Command controller shows a controller that is fit for production: it writes, for each Namespace
// that has or had Pods, the number of its Pods into a ConfigMap "pod-count".
//
// It reads from informers, which work in the background: a handler adds the names of changed
// Namespaces to a work queue, and a worker brings one Namespace at a time to the wanted state.
// After a write it waits until the informer has seen the write, so that the next call for the same
// Namespace does not act on an older state. One replica works at a time, the leader; the others
// have no informers, so they cost next to nothing. The first SIGINT or SIGTERM ends the controller,
// and then releases the lease, in this order.
//
// Without -kubeconfig it starts an API server of its own on a loopback port, with some Pods that
// come and go:
//
//	go run ./controller
//
// In a cluster, with -kubeconfig, it leaves the ConfigMaps, and a Lease "pod-count" in the
// Namespace "default". role.yaml has the permissions that it needs, which its simulation checks.
//
// controller.go is the controller; leader.go runs it while this replica leads; main.go has the
// flags, and serves /metrics, /debug/informers/, /healthz for a liveness probe, which reports
// whether this replica has lost the lease and still runs, and /readyz for a readiness probe, which
// reports whether the informers are up to date.
package main
