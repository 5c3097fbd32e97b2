// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/history"
)

// ask asks the server one question after another. It is Unproved if the server does not answer, or
// the source cannot be asked. The error is also ErrVersionRegressed, or a panic.
func (r *Reflector) ask(ctx context.Context, q *history.Question) (history.Verdict, error) {
	if q == nil || r.proof.cannotAsk {
		_, _, err := r.probe(ctx)
		return history.Unproved, err
	}
	for {
		answer, ok, err := r.requestObject(ctx, q.Key())
		if !ok {
			return history.Unproved, err
		}
		verdict, more, err := q.Answer(answer)
		if !more {
			return verdict, err
		}
	}
}

// requestObject requests one object by a list of the most recent state. ok is false if the answer
// proves nothing. The error is a panic, or ErrVersionRegressed.
func (r *Reflector) requestObject(ctx context.Context, key string) (answer history.Answer, ok bool, err error) {
	others, reached := false, r.version() // which the watch may advance meanwhile
	page, err := r.requestOne(feed.WithObject(ctx, key), feed.SelectorOf(key), func(item feed.Item) error {
		if item.Key != key || answer.Object != nil {
			others = true
			return nil
		}
		answer.Object = &feed.Item{Key: item.Key, UID: item.UID, ResourceVersion: item.ResourceVersion}
		answer.Stamp = history.StampOf(item)
		return nil
	})
	switch {
	case feed.IsPanic(err):
		return answer, false, err
	case err != nil:
		return answer, false, nil //nolint:nilerr // a request that failed proves nothing
	case feed.IsOlder(page.ResourceVersion, reached):
		return answer, false, fmt.Errorf("%w: %s, after %s", ErrVersionRegressed, page.ResourceVersion, reached)
	case others: // the source's functions overwrite the selector
		r.proof.cannotAsk = true
		return answer, false, nil
	case answer.Object == nil && page.Continue != "": // it may be on the next page
		return answer, false, nil
	}
	answer.Version = page.ResourceVersion
	return answer, true, nil
}

// requestOne requests a list of one object that is selected, of the most recent state. The error is
// ErrStalled if the server did not answer within probeTimeout.
func (r *Reflector) requestOne(ctx context.Context, selector string, add func(feed.Item) error) (metav1.ListMeta, error) {
	limited, cancel := r.withTimeout(ctx, probeTimeout)
	defer cancel()
	var page metav1.ListMeta
	err := r.awaitBudget(limited)
	if err == nil {
		page, err = r.page(limited, metav1.ListOptions{FieldSelector: selector, Limit: 1}, add)
	}
	if err != nil && limited.Err() != nil && ctx.Err() == nil && !feed.IsPanic(err) {
		err = ErrStalled
	}
	return page, err
}
