// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package feed

import (
	"context"
	"strings"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
)

// probeKey is the key of a context's value, a *probe.
type probeKey struct{}

// probe is a request for one object.
type probe struct {
	key           string // of the requested object; empty for any one
	lacksSelector atomic.Bool
}

// WithProbe returns the context of a probe: a list with limit=1 for the version of the server's
// most recent state, which is the same for all objects of a resource. lacksSelector reports whether
// RestrictProbe has removed a selector from the request.
func WithProbe(ctx context.Context) (request context.Context, lacksSelector func() bool) {
	p := &probe{}
	return context.WithValue(ctx, probeKey{}, p), p.lacksSelector.Load
}

// WithObject returns the context of a list of the one object that has a key.
func WithObject(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, probeKey{}, &probe{key: key})
}

// RestrictProbe replaces the selectors in the options of a probe, and does nothing to those of
// other requests. An API server without consistent lists from its cache reads all objects from etcd
// until one matches. The selector of a single name stays: a Role with resourceNames permits no list
// without it.
func RestrictProbe(ctx context.Context, options *metav1.ListOptions) {
	p, isProbe := ctx.Value(probeKey{}).(*probe)
	if !isProbe {
		return
	}
	before, selected := *options, options.FieldSelector
	options.LabelSelector, options.FieldSelector, options.ShardSelector = "", "", ""
	defer func() {
		if options.LabelSelector != before.LabelSelector || options.FieldSelector != selected || options.ShardSelector != before.ShardSelector {
			p.lacksSelector.Store(true)
		}
	}()
	if p.key != "" {
		options.FieldSelector = SelectorOf(p.key)
	} else if selector, err := fields.ParseSelector(selected); err == nil {
		if name, ok := selector.RequiresExactMatch(metav1.ObjectNameField); ok {
			options.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()
		}
	}
}

// SelectorOf returns the field selector of the object that has a key.
func SelectorOf(key string) string {
	namespace, name, namespaced := strings.Cut(key, "/")
	if !namespaced {
		return fields.OneTermEqualSelector(metav1.ObjectNameField, key).String()
	}
	return fields.AndSelectors(fields.OneTermEqualSelector("metadata.namespace", namespace), fields.OneTermEqualSelector(metav1.ObjectNameField, name)).String()
}
