package clientgo

import (
	"sync"

	clientcache "k8s.io/client-go/tools/cache"
)

// reflectorOf returns a function that makes a reflector of client-go's once it is needed:
// watch error handlers are given one, and read what it is called and watches. It never runs.
func reflectorOf(description string) func() *clientcache.Reflector {
	return sync.OnceValue(func() *clientcache.Reflector {
		return clientcache.NewReflectorWithOptions(&clientcache.ListWatch{}, nil, nil, clientcache.ReflectorOptions{
			Name:            "kinformer",
			TypeDescription: description,
		})
	})
}
