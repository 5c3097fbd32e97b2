// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"
)

// clientRetries warns of a client that repeats refused requests by itself, below the informer's
// backoff. Only a client that sends HTTP requests does: functions of a program, and fakes, return
// such errors too.
type clientRetries struct {
	never  bool // the client does not
	traits *traits
	once   sync.Once
}

// check logs a warning, once, if err is the error of a request that was refused with a Retry-After
// and did not pass through the tap, which would have kept that from the client.
func (c *clientRetries) check(ctx context.Context, err error) {
	if seconds, _ := apierrors.SuggestsClientDelay(err); c.never || !c.traits.server.Load() || seconds <= 0 {
		return
	}
	c.once.Do(func() {
		klog.FromContext(ctx).Info("Warning: the client repeats requests by itself, client-go's up to ten times each, " +
			"where the server sends a Retry-After; this adds to the informer's attempts. Streaming avoids it, see EnableStreaming")
	})
}
