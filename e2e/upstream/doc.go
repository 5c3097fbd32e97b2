// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package upstream tests unmodified programs and controllers of Kubernetes on kinformer's
// informers. It is a separate module, because k8s.io/kubernetes requires its own release of
// client-go: the library is compiled with the client-go of Kubernetes v1.36 here.
//
// The tests of this folder need no server. They pass a backlog of events to the handlers of two
// controllers, on a fake clock, with each delivery. They check that coalescing does not mislead
// controllers that count the objects they have created, and, by coalescing incorrectly, that the
// tests would detect it.
//
// Another test compares the defaults that fake.APIServer sets with those of Kubernetes' own code,
// for random objects.
//
// Package workloads compares the actors of package simulate with controllers. Package kubemanager
// runs controllers and the scheduler against a real API server.
package upstream
