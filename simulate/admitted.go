// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kinformer/kinformer/fake"
)

// The users of the writes of Steps and of the cluster.
const (
	userOfSteps   = "kubernetes-admin"
	userOfCluster = "system:kube-controller-manager"
)

// errRunFailed is the error of a write whose run has failed meanwhile.
var errRunFailed = errors.New("the run has failed")

// notAdmittedError is why a write is not executed: a webhook denies it, or could not be called.
type notAdmittedError struct{ error }

// maxReviews is the number of reviews of a write after which kube-apiserver answers a patch with a
// conflict, since the object has changed during each.
const maxReviews = 5

// admitted lets the program's webhooks admit a write of Steps or of the cluster, and returns the
// object to write. It executes stimuli meanwhile. If the stored object has changed then, it calls
// build again for the object. Before Start is called, nothing is admitted.
func (s *scheduler) admitted(user, verb string, build func() (fake.Object, error)) (fake.Object, error) {
	for range maxReviews {
		obj, err := build()
		if err != nil || len(s.test.configurations) == 0 || len(s.processes) == 0 {
			return obj, err
		}
		q, err := s.outsideRequest(user, verb, obj)
		if err != nil {
			return nil, err
		}
		if !s.beginReview(q) {
			return obj, nil
		}
		s.runUntilDone(func() time.Time { return time.Now().Add(time.Hour) }, func() bool { return q.review.ended })
		switch r := q.review; {
		case s.record.failed():
			s.withdraw(q)
			if q.cancel != nil {
				q.cancel()
			}
			return nil, errRunFailed
		case r.err == nil && r.hasChanged(): // since the review began, or while an action was admitted
		case r.err != nil:
			return nil, notAdmittedError{r.err}
		case r.mutated == nil:
			return obj, nil
		default:
			return r.editOutside(obj), nil
		}
	}
	return nil, notAdmittedError{fmt.Errorf("the object has changed during the calls of its webhooks, %d times", maxReviews)}
}

// editOutside returns the object that the webhooks have made of one that a test writes, which has
// no managers.
func (r *review) editOutside(obj fake.Object) fake.Object {
	edited := r.edit(obj).(fake.Object)
	edited.SetManagedFields(obj.GetManagedFields())
	edited.SetResourceVersion(obj.GetResourceVersion())
	return edited
}

// maxRetryTime is the longest time after which users and the cluster try a write again that was not
// admitted.
const maxRetryTime = time.Minute

// nextTry returns the time at which a write that is not admitted now is tried again. It is before
// the program could be at rest.
func (s *scheduler) nextTry() time.Time { return time.Now().Add(min(maxRetryTime, s.rest.period/2)) }

// retry executes stimuli until a write of Steps that began at a time is to be tried again, as users
// do: what a webhook reads can be late, or its process can have just started. It returns the error
// of a write that is not tried again.
func (s *scheduler) retry(err error, began time.Time) error {
	if until := s.staleness.until(); until.After(began) {
		began = until
	}
	if !errors.As(err, &notAdmittedError{}) || time.Since(began) > s.rest.period {
		return err
	}
	end := s.nextTry()
	s.runUntil(func() time.Time { return end })
	if s.record.failed() {
		return errRunFailed
	}
	return nil
}

// methods are the methods of the verbs of an Action that are admitted.
var methods = map[string]string{"create": http.MethodPost, "update": http.MethodPut, "update status": http.MethodPut, "delete": http.MethodDelete}

// outsideRequest returns the request that a client would send for a write of Steps or the cluster.
func (s *scheduler) outsideRequest(user, verb string, obj fake.Object) (*request, error) {
	method, ok := methods[verb]
	if !ok {
		return nil, fmt.Errorf("unknown verb %q", verb)
	}
	var content []byte
	if method != http.MethodDelete {
		sent := obj.DeepCopyObject().(fake.Object)
		if kinds, _, err := scheme.Scheme.ObjectKinds(obj); err == nil {
			sent.GetObjectKind().SetGroupVersionKind(kinds[0])
		}
		current := obj.DeepCopyObject().(fake.Object)
		if method == http.MethodPut && s.server.Get(current) == nil {
			sent.SetResourceVersion(current.GetResourceVersion()) // that some kinds require
		}
		var err error
		if content, err = json.Marshal(sent); err != nil {
			return nil, fmt.Errorf("encode %s: %w", describe(obj), err)
		}
	}
	subresource := ""
	if verb == "update status" {
		subresource = "/status"
	}
	r, err := s.requestFor(method, obj, subresource, content)
	if err != nil {
		return nil, err
	}
	q, err := (&process{scheduler: s}).newRequest(r, targetOf(r))
	if err != nil {
		return nil, err
	}
	q.user = user
	return q, nil
}

// errObsolete is the error of an action that its actor would not do any more.
var errObsolete = errors.New("the action is obsolete")

// admittedAction returns the object of an action, as webhooks have changed it. It returns nil if
// the action is not executed: it is obsolete since webhooks were called, or not admitted. Then the
// cluster tries it again, as its controllers do.
func (s *scheduler) admittedAction(a *act) (fake.Object, error) {
	if _, ok := methods[a.Verb]; !ok || len(s.test.configurations) == 0 {
		return a.Object.DeepCopyObject().(fake.Object), nil
	}
	s.admitting = true
	defer func() { s.admitting = false }()
	build := func() (fake.Object, error) {
		if !s.isEnabled(a) {
			return nil, errObsolete
		}
		return a.Object.DeepCopyObject().(fake.Object), nil
	}
	obj, err := s.admitted(userOfCluster, a.Verb, build)
	switch {
	case errors.Is(err, errObsolete), errors.Is(err, errRunFailed):
		return nil, nil
	case errors.As(err, &notAdmittedError{}):
		s.record.add(entry{who: "cluster", kind: clusterEntry, what: fmt.Sprintf("%s %s: %v", a.Verb, describe(a.Object), err)})
		if s.retryAt == nil {
			s.retryAt = map[string]time.Time{}
		}
		s.retryAt[a.sortKey] = s.nextTry()
		return nil, nil
	case err == nil && !s.isEnabled(a):
		return nil, nil
	}
	return obj, err
}

// isEnabled reports whether the actor of an action would still do it.
func (s *scheduler) isEnabled(a *act) bool {
	return slices.ContainsFunc(s.enabled(), func(other *act) bool {
		return other.sortKey == a.sortKey && equality.Semantic.DeepEqual(other.Object, a.Object)
	})
}

// mayTry reports whether an action is not one that is to be tried again later.
func (s *scheduler) mayTry(a *act) bool { return !time.Now().Before(s.retryAt[a.sortKey]) }

// nextRetry returns the next time at which an action is tried again, at most end.
func (s *scheduler) nextRetry(end time.Time) time.Time {
	for _, at := range s.retryAt {
		if at.After(time.Now()) && at.Before(end) {
			end = at
		}
	}
	return end
}
