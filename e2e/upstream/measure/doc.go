// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Measure runs kubemanager against a real kube-apiserver with many Pods, with each implementation
// of informers, and prints its CPU time and memory. The program and the cluster are the same; only
// a flag differs.
//
//	go -C e2e/upstream run ./measure [-pods 20000] [-rounds 3]
//
// For kube-controller-manager's controllers and kube-scheduler, it prints the CPU time until the
// caches have synced and the program is idle, the peak of its resident memory until then, the CPU
// time per change of a Pod, and the resident memory after all changes. It requires Linux.
package main
