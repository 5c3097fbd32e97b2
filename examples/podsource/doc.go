// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Command podsource shows where a kubelet gets its Pods from: a folder of manifests, a URL that is
// polled, and the API server. Each source passes on its whole set of Pods whenever the set may have
// changed; podConfig compares it with the set before, and merges the changes of all sources into
// one channel.
//
//	manifest folder ── fsnotify ──┐
//	URL ── polled ────────────────┼─ whole sets ─▶ podConfig ─ SET, ADD, UPDATE, DELETE ─▶ main
//	API server ── UndeltaStore ───┘
//
// A source that fails does not stop the others. If a manifest cannot be read, the error names it,
// and the source keeps its last good set.
//
// It is simpler than the kubelet, whose PodConfig has other operations: the first update of a
// source is an ADD, even if it has no Pods; Pods that are gone are a REMOVE; DELETE is a change of
// a Pod that has a deletion timestamp, and RECONCILE one of the status alone, which are both an
// UPDATE here. When the kubelet reads its folder, it leaves out malformed manifests and passes on
// the Pods of the others; if there is no folder, it passes on an empty set.
//
// Without flags it needs no cluster: it starts an API server and a web server of its own on
// loopback ports, and writes a manifest into a temporary folder; all three then change their Pods.
//
//	go run ./podsource
//	go run ./podsource -kubeconfig ~/.kube/config -node node-1 -folder /etc/kubernetes/manifests
//
// apiserver.go is the source that uses package cache.
package main
