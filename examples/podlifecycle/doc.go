// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Command podlifecycle shows how a Pod comes to be and goes: a ReplicaSet controller creates it, a
// scheduler binds it to a node, and a kubelet runs it. Each of the three learns of the others' work
// only by its own informers, and the program prints what each of them sees and does, and when.
//
//	you ──ReplicaSet──▶ API server ──watch──▶ controller ──Pod──▶ API server
//	                    API server ──watch──▶ scheduler ──binding──▶ API server
//	                    API server ──watch──▶ kubelet ──status──▶ API server ──watch──▶ controller
//
// Without flags it needs no cluster: it starts an API server of its own on a loopback port, runs all
// three, creates a ReplicaSet, scales it up and down, and deletes it:
//
//	go run ./podlifecycle
//
// The three can be three processes. The first one prints the URL of its server, and the last one
// creates, scales and deletes the ReplicaSet:
//
//	go run ./podlifecycle -run controller
//	go run ./podlifecycle -run scheduler -server http://127.0.0.1:41234
//	go run ./podlifecycle -run kubelet -server http://127.0.0.1:41234 -scenario
//
// With -kubeconfig the program only watches, as a real cluster has a controller, a scheduler and
// kubelets of its own; -act makes it do their work, for an API server that has none.
//
// controller.go, scheduler.go and kubelet.go are the three, each with its informers; timeline.go
// prints; scenario.go creates, scales and deletes the ReplicaSet.
package main
