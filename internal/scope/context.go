// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package scope

import "context"

type requestKey struct{}

// WithRequest returns a context that restricts a list or watch to a request.
func WithRequest(ctx context.Context, request Request) context.Context {
	return context.WithValue(ctx, requestKey{}, request)
}

// RequestOf returns the request to which a context restricts a list or watch. It returns the zero
// Request, which is the whole collection, if there is none.
func RequestOf(ctx context.Context) Request {
	request, _ := ctx.Value(requestKey{}).(Request)
	return request
}
