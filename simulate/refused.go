// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
)

// refusals are the writes that the API server has refused since the program was last at rest, and
// has not accepted since, and the reads that it has forbidden, by what they do: "update of pods
// default/web".
type refusals map[string]*refusal

type refusal struct {
	target target
	denied bool // by the roles of the process
	count  int
	last   *apierrors.StatusError
}

// minRefusals is the number of refusals in a row after which a request is not expected to succeed.
const minRefusals = 3

// note takes the answer to a request into account. Refused is nil if the request succeeded.
func (r refusals) note(q *request, refused *apierrors.StatusError) {
	what := q.what()
	if q.target.resource.Empty() {
		what = q.target.verb + " of " + q.http.URL.Path
	}
	if refused == nil || isExpected(q.target, refused) {
		if r[what] == nil || !r[what].denied {
			delete(r, what)
		}
		return
	}
	if (!q.target.isWrite() || q.target.isTraffic()) && !apierrors.IsForbidden(refused) {
		return
	}
	if r[what] == nil {
		r[what] = &refusal{target: q.namedTarget()}
	}
	r[what].denied = r[what].denied || q.denied
	r[what].count++
	r[what].last = refused
}

// namedTarget returns the target with the name of the object that is created.
func (q *request) namedTarget() target {
	t := q.target
	if t.verb == "create" && t.name == "" {
		t.name = nameOf(q.body).Name
	}
	return t
}

// isExpected reports whether the answer says that the object is as the program wants it.
func isExpected(t target, refused *apierrors.StatusError) bool {
	if apierrors.IsNotFound(refused) {
		return strings.HasPrefix(t.verb, "delete")
	}
	return apierrors.IsAlreadyExists(refused)
}

// checkRefusals fails a run in which the roles of a process have not permitted a request, and one
// that is not disturbed, and whose program is at rest only because the server refuses what it does,
// again and again.
func (s *scheduler) checkRefusals() {
	defer clear(s.refusals)
	when := fmt.Sprintf(" (settle %d)", len(s.record.states)+1)
	s.failRefused("Test.Roles do not permit what the program does"+when, isDenied)
	s.failRefused("the API server refuses what the program tries again and again"+when, func(r *refusal) bool {
		return !s.disturbed && r.count >= minRefusals && !s.isOver(r)
	})
}

// isDenied reports whether the roles of the process have not permitted the request.
func isDenied(r *refusal) bool { return r.denied }

// failRefused fails the run if there are refusals that a function selects and the test does not
// permit.
func (s *scheduler) failRefused(failure string, selected func(*refusal) bool) {
	var lines []string
	for _, what := range slices.Sorted(maps.Keys(s.refusals)) {
		if r := s.refusals[what]; selected(r) && !s.mayBeRefused(r.target) {
			status := r.last.ErrStatus
			reason := cmp.Or(string(status.Reason), http.StatusText(int(status.Code)))
			times := "once"
			if r.count > 1 {
				times = fmt.Sprint(r.count, " times")
			}
			lines = append(lines, fmt.Sprintf("%s %s: %d %s: %s", times, what, status.Code, reason, status.Message))
		}
	}
	if len(lines) > 0 {
		s.record.fail(Refused, "%s:\n  %s\n"+
			"If the program may be refused this, let Test.MayBeRefused say so, or switch the oracle off: Without: []simulate.Oracle{simulate.Refused}.",
			failure, strings.Join(lines, "\n  "))
	}
}

// isOver reports whether a request was refused because its resource is not served, or because of an
// object that is gone, or in a Namespace that terminates. A Namespace that was removed is no such
// object: a program must not go on to create objects in it. Subresources other than status count as
// not served: fake.APIServer has few of them.
func (s *scheduler) isOver(r *refusal) bool {
	t, details := r.target, r.last.ErrStatus.Details
	isOfNamespace := details != nil && details.Kind == "namespaces"
	switch {
	case apierrors.HasStatusCause(r.last, corev1.NamespaceTerminatingCause):
		return true
	case !apierrors.IsNotFound(r.last), isOfNamespace && t.resource.Resource != "namespaces":
		return false
	case t.subresource != "" && t.subresource != "status":
		return true
	}
	obj, err := s.mapper.object(s.server, t)
	return err != nil || s.server.Get(obj) != nil
}

// isPermitted reports whether a program may receive the answer to a write again and again.
func (s *scheduler) isPermitted(q *request, refused *apierrors.StatusError) bool {
	return isExpected(q.target, refused) || q.isDryRun() || s.mayBeRefused(q.namedTarget())
}

// mayBeRefused calls Test.MayBeRefused.
func (s *scheduler) mayBeRefused(t target) bool {
	if s.test.MayBeRefused == nil {
		return false
	}
	obj, _ := s.mapper.object(s.server, t) // which need not be served
	var may bool
	s.callTest(func() { may = s.test.MayBeRefused(strings.TrimSpace(t.verb+" "+t.subresource), obj) })
	return may
}

// isDryRun reports whether a write is a trial that changes nothing.
func (q *request) isDryRun() bool {
	if strings.Contains(q.http.URL.RawQuery, "dryRun=") {
		return true
	}
	if q.http.Method != http.MethodDelete || !bytes.Contains(q.body, []byte(metav1.DryRunAll)) {
		return false
	}
	options := &metav1.DeleteOptions{}
	if json.Unmarshal(q.body, options) != nil {
		_, _, _ = scheme.Codecs.UniversalDeserializer().Decode(q.body, nil, options) // protobuf, or no options
	}
	return len(options.DryRun) > 0
}
