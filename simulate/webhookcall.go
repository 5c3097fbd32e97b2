// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"runtime/debug"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kinformer/kinformer/simulate/internal/admission"
)

// webhookCall is a call of a webhook, which a process serves.
type webhookCall struct {
	webhook    *admission.Webhook
	server     *process
	uid        types.UID
	point      string
	crashAfter bool
	cancel     context.CancelCauseFunc // of the handler's request
	ended      bool                    // guarded by scheduler.mu, as are the fields below
	response   *httptest.ResponseRecorder
	err        error // in place of a response
}

// begin calls the handler in a goroutine. The call ends with the response, after the timeout of the
// webhook, or when a process crashes, whatever comes first. Then it makes q a stimulus.
func (c *webhookCall) begin(q *request, body []byte) {
	ctx, cancel := context.WithCancelCause(context.WithValue(context.Background(), processKey{}, c.server))
	c.cancel = cancel
	q.cancel = func() { cancel(context.Canceled) }
	received := httptest.NewRequestWithContext(ctx, http.MethodPost, c.webhook.URL(), bytes.NewReader(body))
	received.Header.Set("Content-Type", "application/json")
	received.Header.Set("Accept", "application/json")
	timed, stop := context.WithTimeout(ctx, c.webhook.Timeout)
	withClient := context.AfterFunc(q.http.Context(), q.cancel)
	context.AfterFunc(timed, func() { c.end(q, nil, context.Cause(timed)) })
	mux := c.server.webhooks
	go func() {
		defer stop()
		defer withClient()
		defer func() {
			if cause := recover(); cause != nil {
				s, stack := c.server.scheduler, string(debug.Stack())
				s.report(func() {
					s.record.failWithStacks(Panic, []string{stack}, "the handler of webhook %q panicked: %v", c.webhook.Name, cause)
				})
			}
		}()
		response := httptest.NewRecorder()
		mux.ServeHTTP(response, received.WithContext(timed))
		c.end(q, response, nil)
	}()
}

// end makes q, whose webhook was called, a stimulus, unless the call has ended before.
func (c *webhookCall) end(q *request, response *httptest.ResponseRecorder, err error) {
	s := c.server.scheduler
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.ended {
		return
	}
	if c.server.dead {
		response, err = nil, errReset
	}
	c.ended, c.response, c.err = true, response, err
	q.running, q.round = false, s.round
	s.notify()
}

// apply takes the response into account: see admission.Webhook.Apply.
func (c *webhookCall) apply(a *admission.Attributes) (changed bool, err error) {
	switch {
	case c.err != nil:
		return false, c.webhook.Fail(c.err)
	case c.crashAfter:
		return false, c.webhook.Fail(errReset)
	}
	return c.webhook.Apply(a, c.uid, c.response.Code, c.response.Body.Bytes())
}
