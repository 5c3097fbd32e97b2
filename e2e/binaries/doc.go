// Package binaries builds the control plane that the end-to-end tests run: kube-apiserver, etcd and etcdutl, from
// source, at the releases that ../controlplane/go.mod pins. What was built stays in .cache/controlplane of this
// checkout, under a name made of everything that it depends on, so that a build is needed once and is never stale.
package binaries
