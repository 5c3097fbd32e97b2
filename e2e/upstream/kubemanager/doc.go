// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Kubemanager runs unmodified controllers of kube-controller-manager (ReplicaSet, Deployment, Job,
// EndpointSlice and the garbage collector) and kube-scheduler with its default profile, in one
// process, on the informers that a flag selects:
//
//	kubemanager --kubeconfig=file --informers=client-go|kinformer|kinformer-packed
//
// It uses informer factories as these programs do: it drops managedFields, selects Pods for the
// scheduler, and requests protobuf. Only the factories depend on the flag.
//
// It prints "ready" once its caches have synced, and stops on SIGTERM or an interrupt.
package main
