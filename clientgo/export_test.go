package clientgo

import clientcache "k8s.io/client-go/tools/cache"

// Streams tells whether an informer's last answer was cut from the stream, and if not, why.
func Streams(informer clientcache.SharedIndexInformer) (bool, string) {
	return unwrap(informer).(*sharedIndexInformer).source.Mode()
}
