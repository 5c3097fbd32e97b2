// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinformer/kinformer/simulate/internal/admission"
	"github.com/kinformer/kinformer/simulate/internal/rbac"
)

// review is the calls of webhooks for a write, one after the other.
type review struct {
	scheduler  *scheduler
	request    *request
	attributes *admission.Attributes
	webhooks   []*admission.Webhook // that are left; the first one is called
	call       *webhookCall         // the last one
	mutated    *unstructured.Unstructured
	isComplete bool // attributes.Object is what the server would store, for validating webhooks
	// ended reports whether no call is left. Then err, if not nil, is why the write is not
	// executed: an *admission.CallError, or the answer of a webhook.
	ended bool
	err   error
}

// beginReview begins to call the webhooks for a write. It returns false if there is none to call.
func (s *scheduler) beginReview(q *request) bool {
	q.review = nil
	if len(s.test.configurations) == 0 || q.target.isTraffic() || q.process.number != 0 && s.denial(q) != nil {
		return false
	}
	a := s.attributesOf(q)
	webhooks := slices.DeleteFunc(s.webhooks(), func(w *admission.Webhook) bool { return !w.MayMatch(a) })
	switch {
	case len(webhooks) == 0:
		return false
	case q.target.verb == "deletecollection":
		s.record.fail(oracleSteps, "%s: %s, webhook %q: the webhooks of a deletecollection are not called", q.target, webhooks[0].Configuration, webhooks[0].Name)
		return false
	case a.Operation == admissionregistrationv1.Delete && a.OldObject == nil, a.Operation != admissionregistrationv1.Delete && !s.readWritten(q, a):
		return false
	}
	q.review = &review{scheduler: s, request: q, attributes: a, webhooks: webhooks}
	s.mu.Lock()
	q.running = true
	s.pending = append(s.pending, q)
	s.mu.Unlock()
	q.review.advance()
	return true
}

// attributesOf returns what webhooks know of a write, without the new state of the object.
func (s *scheduler) attributesOf(q *request) *admission.Attributes {
	t := q.target
	stored, err := s.mapper.object(s.server, t)
	a := &admission.Attributes{
		Operation: admissionregistrationv1.Update, Kind: stored.GroupVersionKind(), Resource: t.resource, Subresource: t.subresource,
		Namespace: t.namespace, Name: t.name, DryRun: q.isDryRun(), User: cmp.Or(q.user, rbac.User),
	}
	if err == nil && t.name != "" && s.server.Get(stored) == nil {
		a.OldObject = stored
	}
	switch {
	case q.http.Method == http.MethodDelete:
		a.Operation = admissionregistrationv1.Delete
	case a.OldObject == nil:
		a.Operation = admissionregistrationv1.Create
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: t.namespace}}
	if t.resource.Group == "" && t.resource.Resource == "namespaces" {
		namespace.Name = q.namedTarget().name
		a.Namespace = namespace.Name
	}
	if s.server.Get(namespace) != nil { // it need not exist
		namespace.Labels = map[string]string{corev1.LabelMetadataName: namespace.Name}
	}
	a.NamespaceLabels = namespace.Labels
	return a
}

// readWritten sets the new state of the object that a write has, before any webhook. It returns
// false if the server refuses the write.
func (s *scheduler) readWritten(q *request, a *admission.Attributes) bool {
	isGenerated := q.target.verb == "create" && nameOf(q.body).Name == ""
	response := s.trial(q, func(obj runtime.Object) runtime.Object {
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
		if err == nil {
			a.Object = (&unstructured.Unstructured{Object: fields}).DeepCopy()
			a.Object.SetGroupVersionKind(a.Kind)
		}
		return obj
	})
	if a.Object == nil {
		if response.code < http.StatusBadRequest {
			s.record.fail(oracleSteps, "%s: the webhooks of a write that is neither of an object nor of its status are not called", q.target)
		}
		return false
	}
	if isGenerated {
		a.Object.SetName("") // it has none yet
	}
	if a.Resource.Group == "" && a.Resource.Resource == "namespaces" && a.Subresource == "" {
		a.NamespaceLabels = a.Object.GetLabels()
	}
	return true
}

// edit returns the object that the webhooks have made of obj.
func (r *review) edit(obj runtime.Object) runtime.Object {
	mutated := r.mutated.DeepCopy()
	if named, ok := obj.(metav1.Object); ok && mutated.GetName() == "" {
		mutated.SetName(named.GetName()) // which the server has generated
	}
	if _, ok := obj.(*unstructured.Unstructured); ok {
		return mutated
	}
	typed := reflect.New(reflect.TypeOf(obj).Elem()).Interface().(runtime.Object)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(mutated.Object, typed); err != nil {
		s := r.scheduler
		s.report(func() {
			s.record.fail(oracleSteps, "convert the object of %s that a webhook has changed: %v", r.request.point, err)
		})
		return obj
	}
	typed.GetObjectKind().SetGroupVersionKind(obj.GetObjectKind().GroupVersionKind())
	return typed
}

// editor returns edit, or nil if no webhook has changed the object.
func (r *review) editor() func(runtime.Object) runtime.Object {
	if r == nil || r.mutated == nil {
		return nil
	}
	return r.edit
}

// deliver takes the response of a call into account, and goes on.
func (r *review) deliver() {
	s, call := r.scheduler, r.call
	changed, err := call.apply(r.attributes)
	what, mark := "is answered: allowed", ""
	switch {
	case err != nil:
		what = "is answered: " + err.Error()
	case changed:
		what = "is answered: changed"
		r.mutated = r.attributes.Object
	}
	if call.crashAfter {
		mark = effects{crashAfter: true}.mark()
	}
	s.record.add(entry{who: call.server.name(), what: call.point + " " + what, mark: mark})
	if call.crashAfter {
		s.crash(call.server)
	}
	r.webhooks = r.webhooks[1:]
	if !r.ignores(err, call.webhook) {
		r.end(err)
		return
	}
	r.advance()
}

// ignores reports whether the write goes on after the outcome of a call.
func (r *review) ignores(err error, w *admission.Webhook) bool {
	_, isFailure := err.(*admission.CallError) //nolint:errorlint // which is not wrapped
	return err == nil || isFailure && w.Ignored
}

// advance begins the next call, or ends the review.
func (r *review) advance() {
	for ; len(r.webhooks) > 0 && !r.request.process.dead; r.webhooks = r.webhooks[1:] {
		w := r.webhooks[0]
		if !w.Mutating && !r.complete() {
			break
		}
		switch {
		case !w.Matches(r.attributes):
			continue
		case r.attributes.DryRun && !w.SupportsDryRun():
			r.end(w.DryRunError())
			return
		}
		err := r.begin(w)
		if err == nil {
			return
		}
		if !r.ignores(err, w) {
			r.end(err)
			return
		}
	}
	r.end(nil)
}

// complete sets the object that validating webhooks receive. It returns false if the server refuses
// the write.
func (r *review) complete() bool {
	if r.isComplete || r.attributes.Object == nil {
		return true
	}
	r.isComplete = true
	response := r.scheduler.trial(r.request, r.editor())
	if response.code >= http.StatusBadRequest {
		return r.request.process.number == 0 // what the test writes is not validated
	}
	stored := &unstructured.Unstructured{}
	if err := stored.UnmarshalJSON(response.body.Bytes()); err != nil {
		r.scheduler.record.fail(oracleSteps, "decode the object of %s: %v", r.request.target, err)
		return false
	}
	r.attributes.Object = stored
	return true
}

// begin begins the call of a webhook. It returns an error if the call has failed at once.
func (r *review) begin(w *admission.Webhook) error {
	s, q := r.scheduler, r.request
	server, others := s.webhookServer(w.Path)
	if server == nil {
		if others {
			s.failUnserved(w)
		}
		return w.Fail(errRefused)
	}
	s.calls++
	call := &webhookCall{webhook: w, server: server, uid: types.UID(fmt.Sprintf("00000000-0000-0000-0000-%012d", s.calls))}
	call.point = s.points.call(w.Name, q.target, nameOf(q.body))
	s.record.points = append(s.record.points, call.point)
	e := s.effectsAt(call.point, q.target)
	switch {
	case e.crashBefore && e.past == 0:
		s.record.add(entry{who: server.name(), what: call.point, mark: e.mark()})
		s.crash(server)
		return w.Fail(errRefused)
	case e != (effects{crashAfter: e.crashAfter}):
		s.record.fail(oracleSteps, "%s is a call of a webhook: of the disturbances, only Crash happens to it", call.point)
	}
	call.crashAfter = e.crashAfter
	body, err := admission.Review(r.attributes, call.uid)
	if err != nil {
		return w.Fail(err)
	}
	s.mu.Lock()
	q.running, r.call = true, call
	call.begin(q, body)
	s.mu.Unlock()
	return nil
}

// end ends the review: the write is executed, or answered with err. If the object has changed since
// the review began, everything begins anew.
func (r *review) end(err error) {
	s, q := r.scheduler, r.request
	s.withdraw(q)
	q.running, q.cancel = false, nil
	r.ended, r.err = true, err
	switch {
	case q.process.number == 0, q.process.dead, q.http.Context().Err() != nil:
	case err == nil && r.hasChanged() && s.beginReview(q):
	default:
		s.complete(q)
	}
}

// hasChanged reports whether the stored object is another one than when the review began.
func (r *review) hasChanged() bool {
	s, old := r.scheduler, r.attributes.OldObject
	if r.request.target.name == "" {
		return false
	}
	current, err := s.mapper.object(s.server, r.request.target)
	if err != nil || s.server.Get(current) != nil {
		return old != nil
	}
	return old == nil || current.GetResourceVersion() != old.GetResourceVersion()
}

// answer returns the answer to the write that a webhook has caused, or nil.
func (r *review) answer() *apierrors.StatusError {
	if r == nil || r.err == nil {
		return nil
	}
	if denied := (*apierrors.StatusError)(nil); errors.As(r.err, &denied) {
		return denied
	}
	return apierrors.NewInternalError(r.err)
}
