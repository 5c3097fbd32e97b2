// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package scope

import "context"

type requestKey struct{}

// WithRequest returns a context of a list or watch that is restricted to a request.
func WithRequest(ctx context.Context, request Request) context.Context {
	return context.WithValue(ctx, requestKey{}, request)
}

// RequestOf returns the request of a context; the zero Request if it is not restricted.
func RequestOf(ctx context.Context) Request {
	request, _ := ctx.Value(requestKey{}).(Request)
	return request
}
