// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package workloads compares the actors of simulate.Workloads with the controllers of Kubernetes
// whose writes they make. Each random program runs twice in a simulation, once with each, and with
// the same scheduler, kubelets and claims. After each step, all objects must be equal but for UIDs,
// versions, times, generated names and the messages of conditions. The flag -programs asks for more
// than a minute's worth, and -first for those of other seeds.
package workloads
