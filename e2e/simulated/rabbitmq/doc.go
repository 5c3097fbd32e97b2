// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package rabbitmq simulates the controller of rabbitmq/cluster-operator, with leader election.
package rabbitmq
