// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Command podsource shows where a kubelet gets its Pods from: a folder of manifests, a URL that is
// polled, and the API server. Each source passes on its whole set of Pods whenever the set may have
// changed; podConfig compares it with the set before, and merges the changes of all sources into one
// channel, as the kubelet's PodConfig does.
//
//	manifest folder ── fsnotify ──┐
//	URL ── polled ────────────────┼─ whole sets ─▶ podConfig ─ SET, ADD, UPDATE, DELETE ─▶ main
//	API server ── UndeltaStore ───┘
//
// A source that fails does not stop the others. If a manifest cannot be read, the error names it,
// and the source keeps its last good set.
//
// Without flags it needs no cluster: it starts an API server and a web server of its own on
// loopback ports, and writes a manifest into a temporary folder; all three then change their Pods.
//
//	go run ./podsource
//	go run ./podsource -kubeconfig ~/.kube/config -node node-1 -folder /etc/kubernetes/manifests
//
// apiserver.go is the source that uses package cache.
package main
