// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/kinformer/fake"
)

// act is an enabled action of the cluster.
type act struct {
	Action
	round   int
	sortKey string
}

// key implements stimulus.
func (a *act) key() string { return a.sortKey }

// since implements stimulus.
func (a *act) since() int { return a.round }

// load implements stimulus.
func (a *act) load() int { return writeLoad }

// deliver implements stimulus. An action that the server refuses fails the run: the actor has seen
// the state that the action applies to.
func (a *act) deliver(s *scheduler) {
	obj, err := s.admittedAction(a)
	if obj == nil {
		return
	}
	if err == nil {
		err = s.outsideWrite("cluster", a.Verb, obj)
	}
	if err != nil {
		s.record.fail(oracleSteps, "action of the cluster: %v", err)
		return
	}
	switch a.Verb {
	case "create":
		err = s.create(obj)
	case "update":
		err = s.server.Update(obj)
	case "update status":
		err = s.server.UpdateStatus(obj)
	case "delete":
		err = s.send(http.MethodDelete, obj, "", deleteOptions(obj))
	case "finalize":
		err = s.finalize(obj)
	default:
		err = fmt.Errorf("unknown verb %q", a.Verb)
	}
	what := a.Verb + " " + describe(obj)
	if err != nil {
		s.record.fail(oracleSteps, "action of the cluster: %s: %v", what, err)
		return
	}
	s.record.add(entry{who: "cluster", kind: clusterEntry, what: what})
	s.rest.changed("by the cluster: " + what)
}

// deleteOptions returns the options of a delete by the cluster: see Action.
func deleteOptions(obj fake.Object) metav1.DeleteOptions {
	policy := metav1.DeletePropagationBackground
	switch finalizers := obj.GetFinalizers(); {
	case slices.Contains(finalizers, metav1.FinalizerOrphanDependents):
		policy = metav1.DeletePropagationOrphan
	case slices.Contains(finalizers, metav1.FinalizerDeleteDependents):
		policy = metav1.DeletePropagationForeground
	}
	options := metav1.DeleteOptions{PropagationPolicy: &policy}
	if obj.GetDeletionTimestamp() != nil {
		options.GracePeriodSeconds = new(int64)
	}
	return options
}

// finalize removes the finalizers in the spec of a Namespace.
func (s *scheduler) finalize(obj fake.Object) error {
	namespace, ok := obj.(*corev1.Namespace)
	if !ok {
		return errors.New("only Namespaces have finalizers in the spec")
	}
	namespace.Spec.Finalizers = nil
	namespace.APIVersion, namespace.Kind = "v1", "Namespace"
	return s.send(http.MethodPut, namespace, "/finalize", namespace)
}

// enabled returns the actions of the cluster in the current state.
func (s *scheduler) enabled() []*act {
	if len(s.test.Cluster) == 0 || s.actionsAt == s.server.ResourceVersion() {
		return s.actions
	}
	s.actionsAt = s.server.ResourceVersion()
	state, known := s.state(), s.actions
	s.actions = nil
	for i, actor := range s.test.Cluster {
		for _, action := range actor(state) {
			a := &act{Action: action, round: s.round}
			a.sortKey = fmt.Sprintf("0 %d %s %T %s/%s", i, action.Verb, action.Object, action.Object.GetNamespace(), action.Object.GetName())
			for _, old := range known {
				if old.sortKey == a.sortKey {
					a.round = old.round
				}
			}
			s.actions = append(s.actions, a)
		}
	}
	return s.actions
}
