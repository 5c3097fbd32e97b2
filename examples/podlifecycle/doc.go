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
// Without flags it needs no cluster: it starts an API server of its own on a loopback port, runs
// all three, creates a ReplicaSet, scales it up and down, and deletes it:
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
// The lines begin with the wall time, so that the outputs of three processes can be sorted into one
// timeline. That of one Pod, which scaling down deletes:
//
//	16:28:40.691  controller  saw  Pod web-2fxh9-wztrg without a node  (watch pods)
//	16:28:40.692  controller  did  create Pod web-2fxh9-wztrg
//	16:28:40.692  scheduler   saw  Pod web-2fxh9-wztrg without a node  (watch pods)
//	16:28:40.696  controller  saw  Pod web-2fxh9-wztrg bound to node-2  (watch pods)
//	16:28:40.696  scheduler   saw  Pod web-2fxh9-wztrg bound to node-2  (watch pods)
//	16:28:40.696  scheduler   did  bind Pod web-2fxh9-wztrg to node-2
//	16:28:40.697  node-2      saw  Pod web-2fxh9-wztrg bound to node-2  (watch pods?spec.nodeName=node-2)
//	16:28:40.749  controller  saw  Pod web-2fxh9-wztrg Running  (watch pods)
//	16:28:40.749  scheduler   saw  Pod web-2fxh9-wztrg Running  (watch pods)
//	16:28:40.749  node-2      saw  Pod web-2fxh9-wztrg Running  (watch pods?spec.nodeName=node-2)
//	16:28:40.749  node-2      did  report Pod web-2fxh9-wztrg as running
//	16:28:40.831  controller  saw  Pod web-2fxh9-wztrg terminating  (watch pods)
//	16:28:40.831  controller  did  delete Pod web-2fxh9-wztrg
//	16:28:40.831  scheduler   saw  Pod web-2fxh9-wztrg terminating  (watch pods)
//	16:28:40.831  node-2      saw  Pod web-2fxh9-wztrg terminating  (watch pods?spec.nodeName=node-2)
//	16:28:40.883  controller  saw  Pod web-2fxh9-wztrg terminating  (watch pods)
//	16:28:40.883  controller  saw  Pod web-2fxh9-wztrg gone  (watch pods)
//	16:28:40.883  node-2      did  remove Pod web-2fxh9-wztrg
//	16:28:40.884  scheduler   saw  Pod web-2fxh9-wztrg terminating  (watch pods)
//	16:28:40.884  scheduler   saw  Pod web-2fxh9-wztrg gone  (watch pods)
//	16:28:40.884  node-2      saw  Pod web-2fxh9-wztrg terminating  (watch pods?spec.nodeName=node-2)
//	16:28:40.884  node-2      saw  Pod web-2fxh9-wztrg gone  (watch pods?spec.nodeName=node-2)
//
// A line with "saw" is printed when the handler receives the event, and one with "did" when the
// response has arrived, so that "saw" may be first. What an informer's initial list brings is shown
// as "list", and all else as "watch", even if a relist after a broken watch brings it.
//
// With -kubeconfig the program only watches a Namespace, as a real cluster has a controller, a
// scheduler and kubelets of its own; -act makes it do their work, for an API server that has none.
// The scenario then needs a Node, and -scenario:
//
//	go run ./podlifecycle -kubeconfig ~/.kube/config -namespace web
//	go run ./podlifecycle -kubeconfig ~/.kube/config -act -scenario
//
// controller.go, scheduler.go and kubelet.go are the three, each with its informers; timeline.go
// prints; scenario.go creates, scales and deletes the ReplicaSet.
package main
