// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/simulate/internal/canonical"
)

// serve executes a request, with the disturbances that are planned for it.
func (s *scheduler) serve(q *request) {
	switch {
	case q.target.verb == "watch":
		s.openWatch(q)
		return
	case !q.target.isWrite(), q.target.isTraffic():
		q.respond(s.execute(q, nil).response())
		return
	}
	q.point = s.points.next(q.target, nameOf(q.body))
	s.record.points = append(s.record.points, q.point)
	q.effects = s.effectsAt(q.point, q.target)
	s.disturb(q)
}

// disturb executes a write with the effects of its disturbances, or begins to call its webhooks.
func (s *scheduler) disturb(q *request) {
	e := q.effects
	if e.crashBefore {
		s.crashBefore(q)
		return
	}
	if e.touch {
		s.touch(q.target)
		s.touch(q.target)
	}
	if e.err != nil || !s.beginReview(q) {
		s.complete(q)
	}
}

// complete executes a write after its webhooks, if it has any, with the effects of its disturbances
// that come after it.
func (s *scheduler) complete(q *request) {
	e, err := q.effects, q.effects.err
	if answer := q.review.answer(); answer != nil && answer.ErrStatus.Code >= http.StatusInternalServerError {
		err = answer
	}
	response := s.execute(q, err)
	s.noteGenerated(q, nameOf(q.body), response)
	if !e.crashAfter && !e.lost {
		q.respond(response.response())
		return
	}
	q.fail(errReset)
	if e.crashAfter {
		s.crash(q.process)
	}
}

// crashBefore ends the process of a request that is not executed. The next one may begin in the
// past.
func (s *scheduler) crashBefore(q *request) {
	e := q.effects
	s.record.add(entry{who: q.process.name(), kind: requestEntry, what: q.point, mark: e.mark()})
	if e.past > 0 {
		s.staleness.past = past{process: q.process.number, until: time.Now().Add(e.past), version: s.steps[max(0, len(s.steps)-2)]}
	}
	s.withdraw(q)
	q.fail(errRefused)
	s.crash(q.process)
}

// touch is a write of another client without effect, to an object if it exists: it adds an entry to
// the managedFields, or removes it. Other fields could be copied by the program.
func (s *scheduler) touch(t target) {
	obj, err := s.mapper.object(s.server, t)
	if err != nil || s.server.Get(obj) != nil {
		return
	}
	const client = "simulate"
	fields := obj.GetManagedFields()
	touched := slices.DeleteFunc(slices.Clone(fields), func(e metav1.ManagedFieldsEntry) bool { return e.Manager == client })
	if len(touched) == len(fields) {
		touched = append(touched, metav1.ManagedFieldsEntry{
			Manager: client, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: t.resource.GroupVersion().String(),
			FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1("{}"),
		})
	}
	obj.SetManagedFields(touched)
	if err := s.server.Update(obj); err != nil {
		s.record.fail(oracleSteps, "touch %s: %v", t, err)
	}
}

// touchOthers touches all objects of the resources that the program watches, but for one whose
// events are held: a program acts on its stale cache only if it is woken.
func (s *scheduler) touchOthers(held schema.GroupVersionResource) {
	for _, resource := range s.watchedResources() {
		kind, err := s.mapper.KindFor(resource)
		if err != nil || resource.GroupResource() == held.GroupResource() {
			continue
		}
		touched := 0
		for _, obj := range slices.Collect(s.server.Objects()) {
			if obj.GetObjectKind().GroupVersionKind().GroupKind() == kind.GroupKind() {
				s.touch(target{resource: resource, namespace: obj.GetNamespace(), name: obj.GetName()})
				touched++
			}
		}
		if touched > 0 {
			s.record.note("", fmt.Sprintf("another client writes to %d %s, without effect", touched, resource.Resource))
		}
	}
}

// effectsAt returns what the plan's disturbances do to a write, and holds the events of its
// resource if they do. There are none once the run has ended.
func (s *scheduler) effectsAt(point string, t target) effects {
	e := effects{}
	if s.stopped {
		return e
	}
	for _, d := range s.plan.at(point) {
		s.disturbed = true
		s.record.happened = append(s.record.happened, d)
		s.record.note("", d.String())
		d.affect(&e)
	}
	s.limit += int((e.hold+e.past)/time.Second) * busyStimuli * writeLoad // the program may be busy until it ends
	if e.hold > 0 {
		now := time.Now()
		h := hold{until: now.Add(e.hold), wake: now.Add(wakeDelay), gap: e.gap}
		if e.untilTimer {
			h.timer = awaited
		}
		s.staleness.held[t.resource] = h
	}
	return e
}

// outsideWrite names a write of the cluster or of Steps, and begins the Lags and Gaps that are
// planned for it.
func (s *scheduler) outsideWrite(who, verb string, obj fake.Object) error {
	resource, err := s.mapper.resource(s.server, obj)
	if err != nil {
		return err
	}
	verb, isStatus := strings.CutSuffix(verb, " status")
	t := target{verb: verb, resource: resource, namespace: obj.GetNamespace(), name: obj.GetName()}
	if isStatus {
		t.subresource = "status"
	}
	point := s.points.outside(t, who)
	s.record.points = append(s.record.points, point)
	s.effectsAt(point, t)
	return nil
}

// execute calls the server's handler with a request. If err is not nil, it is the response.
func (s *scheduler) execute(q *request, err error) *recorder {
	version, answer := s.staleness.readVersion(q.process.number, q.target), err
	if denied := s.denial(q); answer == nil && denied != nil {
		answer = denied
	}
	if refused := q.review.answer(); answer == nil && refused != nil {
		answer = refused
	}
	if edit := q.review.editor(); answer != nil || version != "" || edit != nil {
		fault := fake.Fault{Err: answer, ResourceVersion: version, EditWrite: edit}
		s.server.InjectFault(1, func(r fake.APIRequest) bool { return r.HTTP == q.http }, fault)
	}
	response := newRecorder()
	before := s.beforeWrite(q)
	s.server.ServeHTTP(response, q.http)
	q.note(&s.record, response.code, response.reason(), before.version, s.server.ResourceVersion())
	refused := response.refusal()
	if q.target.isWrite() && refused != nil && s.isPermitted(q, refused) {
		s.record.accepted++
	}
	if err == nil && (q.denied || !q.isDryRun()) {
		s.refusals.note(q, refused)
		s.afterWrite(q, before, refused)
	}
	return response
}

// noteGenerated notes the name that the server has generated for an object.
func (s *scheduler) noteGenerated(q *request, name objectName, response *recorder) {
	if q.target.verb != "create" || name.GenerateName == "" || name.Name != "" || response.code != http.StatusCreated {
		return
	}
	created := nameOf(response.body.Bytes())
	s.points.generated(q.target, name.GenerateName, created.Name)
}

// priorState is what is known before a write.
type priorState struct {
	version string
	state   State
	object  canonical.State // of the written object, if fields are ignored
}

func (s *scheduler) beforeWrite(q *request) priorState {
	b := priorState{version: s.server.ResourceVersion()}
	if !q.target.isWrite() {
		return b
	}
	if len(s.test.Invariants) > 0 {
		b.state = s.state()
	}
	if len(s.test.Ignore) > 0 {
		b.object = s.canonicalObject(q.target)
	}
	return b
}

// afterWrite notes a write that has changed something, and checks the invariants after it, or after
// a write that was refused.
func (s *scheduler) afterWrite(q *request, before priorState, refused *apierrors.StatusError) {
	if !q.target.isWrite() || q.target.isTraffic() {
		return
	}
	hasChanged := s.server.ResourceVersion() != before.version
	switch {
	case refused != nil:
		s.rest.count(q.what(), strconv.Itoa(int(refused.ErrStatus.Code)))
	case !hasChanged:
		s.rest.count(q.what(), "no effect")
		return
	case len(s.test.Ignore) == 0 || q.target.name == "" || len(canonical.Diff(before.object, s.canonicalObject(q.target))) > 0:
		s.rest.changed(q.what())
	}
	for _, invariant := range s.test.Invariants {
		t := q.target
		write := Write{
			Process: q.process.number, Verb: t.verb, Resource: t.resource, Namespace: t.namespace, Name: t.name, Subresource: t.subresource,
			Before: before.state, After: s.state(),
		}
		if refused != nil {
			write.Err = refused
		}
		var err error
		s.callTest(func() { err = invariant(write) })
		if err != nil {
			s.record.fail(oracleInvariant, "%s: %v", t, err)
		}
	}
}
