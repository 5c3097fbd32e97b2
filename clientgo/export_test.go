// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo

import clientcache "k8s.io/client-go/tools/cache"

// Streaming reports whether an informer read the last response from the stream and, if not, why.
func Streaming(informer clientcache.SharedIndexInformer) (bool, string) {
	status := unwrap(informer).(*sharedIndexInformer).source.Status()
	return status.Streaming, status.NotStreamingReason
}

// CopiedClients returns the number of clients of which copies exist.
func CopiedClients() (n int) {
	clientCopies.Range(func(any, any) bool { n++; return true })
	return n
}
