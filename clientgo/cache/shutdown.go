// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"fmt"

	clientcache "k8s.io/client-go/tools/cache"
)

// ShutDownEventHandler removes a handler, and waits for a call in progress to return. The handler
// must not call it. client-go has this function since v0.37.
func ShutDownEventHandler(informer clientcache.SharedInformer, handle clientcache.ResourceEventHandlerRegistration) error {
	if err := informer.RemoveEventHandler(handle); err != nil {
		return err
	}
	registration, ok := handle.(interface{ ShutdownChan() <-chan struct{} })
	if !ok {
		return fmt.Errorf("the handler's registration %T has no ShutdownChan", handle)
	}
	<-registration.ShutdownChan()
	return nil
}
