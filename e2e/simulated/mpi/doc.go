// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package mpi simulates the controller of kubeflow/mpi-operator.
package mpi
