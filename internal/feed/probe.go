// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package feed

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
)

// isProbe is the key of a context's value: the request is a probe.
type isProbe struct{}

// WithProbe returns the context of a probe: a list with limit=1 for the version of the server's
// most recent state, which is the same for all objects of a resource.
func WithProbe(ctx context.Context) context.Context {
	return context.WithValue(ctx, isProbe{}, true)
}

// RestrictProbe removes the selectors from the options of a probe, and does nothing to those of
// other requests. An API server without consistent lists from its cache reads all objects from etcd
// until one matches. The selector of a single name stays: a Role with resourceNames permits no list
// without it.
func RestrictProbe(ctx context.Context, options *metav1.ListOptions) {
	if ctx.Value(isProbe{}) == nil {
		return
	}
	selector, err := fields.ParseSelector(options.FieldSelector)
	options.LabelSelector, options.FieldSelector, options.ShardSelector = "", "", ""
	if err != nil {
		return
	}
	if name, ok := selector.RequiresExactMatch(metav1.ObjectNameField); ok {
		options.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()
	}
}
