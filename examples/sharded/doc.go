// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Command sharded shows a controller that three replicas share: package shard divides its
// ConfigMaps between them, and each replica holds and stamps its own part. README.md has a run of
// it.
//
// The command starts an API server of its own, or uses the one of -kubeconfig, creates ConfigMaps
// and changes them all the time. It runs three replicas as child processes, and shows them: on a
// terminal in a table, from which a replica can be killed, paused, stopped and started again,
// otherwise as lines.
//
//	go run ./sharded
//
// In a cluster it leaves the Namespace "sharded", with 2,000 ConfigMaps and the Leases:
//
//	kubectl delete namespace sharded
//
// controller.go is the controller, and replica.go the process that runs it. The rest is the
// demonstration: collection.go changes the ConfigMaps; process.go, table.go and show.go run and
// show the replicas.
package main
