// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package binaries builds the control plane of the end-to-end tests from source: kube-apiserver,
// etcd and etcdutl, at the releases that ../controlplane/go.mod pins. It keeps the programs in
// .cache/controlplane of this checkout, in a folder named by a hash of everything they depend on,
// so that a build is never stale.
package binaries
