// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinformer/kinformer/fake/internal/history"
	"github.com/kinformer/kinformer/fake/internal/resource"
)

// defaultGrace is the grace period in seconds of a Pod whose spec has none. The real server sets it
// in the spec.
const defaultGrace = 30

// Delete deletes an object, or sets its deletionTimestamp if finalizers or a grace period block the
// deletion. It returns the object and reports whether it has been removed. Delete may modify the
// options.
//
// A Pod always gets a deletionTimestamp first. If it is bound to a node and has not terminated, its
// grace period is that of the options or else of its spec; otherwise it is 0, and the Pod is then
// removed. A CustomResourceDefinition gets a deletionTimestamp, too, and is removed with the last
// object of its resource.
func (s *Store) Delete(namespace, name string, opts *metav1.DeleteOptions) (history.Object, bool, error) {
	if err := s.checkDeletable(name); err != nil {
		return nil, false, err
	}
	defer s.lockServed()()
	obj, gone, err := s.delete(namespace, name, opts)
	if err == nil && len(opts.DryRun) == 0 {
		err = s.settle(name)
	}
	return obj, gone, err
}

// delete is like Delete, but does not update what the registry serves.
func (s *Store) delete(namespace, name string, opts *metav1.DeleteOptions) (history.Object, bool, error) {
	mode := Checked
	if len(opts.DryRun) > 0 {
		mode = DryRun
	}
	key, d := history.Key(namespace, name), &deletion{store: s, opts: opts}
	obj, err := s.apply(key, mode, func(current history.Object) (history.Object, error) {
		if current == nil {
			return nil, s.notFound(name)
		}
		return d.mark(current)
	})
	if err != nil {
		return nil, false, err
	}
	if d.markedOnly && !d.blocked && mode != DryRun {
		// Another client may have removed the object between the two writes.
		obj, err = s.remove(key, obj)
	}
	return s.Present(obj), !d.blocked, err
}

// Remove removes an object immediately, ignoring finalizers and grace periods, and returns its last
// state. If uid is not empty, it must be the object's.
func (s *Store) Remove(namespace, name string, uid types.UID) (history.Object, error) {
	defer s.lockServed()()
	preconditions := &metav1.Preconditions{}
	if uid != "" {
		preconditions.UID = &uid
	}
	if s.storesDefinitions() {
		return s.registry.undefine(name, preconditions)
	}
	obj, err := s.objects.Apply(history.Key(namespace, name), func(current history.Object) (history.Object, error) {
		if current == nil {
			return nil, s.notFound(name)
		}
		return nil, s.checkPreconditions(current, preconditions)
	})
	if err != nil {
		return nil, err
	}
	return obj, s.settle(name)
}

// remove removes an object that is marked for deletion.
func (s *Store) remove(key string, marked history.Object) (history.Object, error) {
	gone, err := s.objects.Apply(key, func(current history.Object) (history.Object, error) {
		if current == nil || current.GetUID() != marked.GetUID() {
			return current, errAlreadyGone
		}
		return nil, nil
	})
	if errors.Is(err, errAlreadyGone) {
		return marked, nil
	}
	return gone, err
}

var errAlreadyGone = errors.New("object already removed")

// deletion is the delete of one object.
type deletion struct {
	store      *Store
	opts       *metav1.DeleteOptions
	markedOnly bool // the object was marked for deletion, not removed
	blocked    bool // finalizers or a grace period block the removal
}

// mark returns the object marked for deletion, or nil if it is to be removed immediately.
func (d *deletion) mark(current history.Object) (history.Object, error) {
	if err := d.store.checkPreconditions(current, d.opts.Preconditions); err != nil {
		return nil, err
	}
	marked := markNamespace(current)
	if marked == nil {
		marked = d.store.markDefinition(current)
	}
	if marked != nil {
		d.markedOnly, d.blocked = true, true
		return marked, nil
	}
	next := resource.Copy(current)
	next.SetFinalizers(d.finalizers(current))
	graceful, pending := applyGracePeriod(next, d.opts)
	if pending {
		d.markedOnly, d.blocked = true, true
		return current, nil
	}
	d.blocked = len(next.GetFinalizers()) > 0 || (graceful && *d.opts.GracePeriodSeconds > 0)
	if !graceful && !d.blocked {
		return nil, nil
	}
	d.markedOnly = true
	if !graceful {
		markForDeletion(next)
	}
	if apiequality.Semantic.DeepEqual(current, next) {
		return current, nil
	}
	return next, nil
}

// applyGracePeriod sets the deletion timestamp and grace period of a Pod. It returns graceful if it
// did, and pending if the Pod was marked before and the options do not shorten its grace period.
// For other kinds it returns false.
func applyGracePeriod(next history.Object, opts *metav1.DeleteOptions) (graceful, pending bool) {
	pod, ok := next.(*corev1.Pod)
	if !ok {
		return false, false
	}
	if pod.DeletionTimestamp != nil {
		return shortenGracePeriod(pod, opts)
	}
	seconds := gracePeriod(pod, opts)
	opts.GracePeriodSeconds = &seconds
	until := metav1.NewTime(now().Add(time.Duration(seconds) * time.Second))
	pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = &until, &seconds
	bumpGeneration(pod)
	return true, false
}

// gracePeriod returns the grace period in seconds of a Pod that is not yet marked for deletion.
func gracePeriod(pod *corev1.Pod, opts *metav1.DeleteOptions) int64 {
	seconds := int64(defaultGrace)
	if pod.Spec.TerminationGracePeriodSeconds != nil {
		seconds = *pod.Spec.TerminationGracePeriodSeconds
	}
	if opts.GracePeriodSeconds != nil {
		seconds = *opts.GracePeriodSeconds
	}
	ended := pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
	switch {
	case pod.Spec.NodeName == "" || ended:
		return 0
	case seconds < 0:
		return 1
	}
	return seconds
}

// shortenGracePeriod applies another delete to a Pod that is marked for deletion. It can make the
// grace period shorter, never longer.
func shortenGracePeriod(pod *corev1.Pod, opts *metav1.DeleteOptions) (graceful, pending bool) {
	old := pod.DeletionGracePeriodSeconds
	if old == nil || *old == 0 {
		return false, false
	}
	if opts.GracePeriodSeconds == nil || *opts.GracePeriodSeconds >= *old {
		opts.GracePeriodSeconds = old
		return false, true
	}
	seconds := max(*opts.GracePeriodSeconds, 0)
	until, at := metav1.NewTime(pod.DeletionTimestamp.Add(time.Duration(seconds-*old)*time.Second)), now()
	if until.Before(&at) {
		until = at
		seconds = min(seconds, 1)
	}
	pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = &until, &seconds
	opts.GracePeriodSeconds = &seconds
	return true, false
}

// markForDeletion marks an object whose deletion only finalizers block.
func markForDeletion(next history.Object) {
	at := now()
	if old := next.GetDeletionTimestamp(); old == nil {
		bumpGeneration(next)
		next.SetDeletionTimestamp(&at)
	} else if at.Before(old) {
		next.SetDeletionTimestamp(&at)
	}
	next.SetDeletionGracePeriodSeconds(new(int64))
}

// bumpGeneration increments the generation, for kinds that have one.
func bumpGeneration(obj history.Object) {
	if obj.GetGeneration() > 0 {
		obj.SetGeneration(obj.GetGeneration() + 1)
	}
}

// finalizers returns the finalizers of an object that is being deleted: its own and, as the
// propagation policy requires, that of the garbage collector.
func (d *deletion) finalizers(obj history.Object) []string {
	gcFinalizers := []string{metav1.FinalizerOrphanDependents, metav1.FinalizerDeleteDependents}
	wanted, ok := d.gcFinalizer(obj)
	if !ok {
		return obj.GetFinalizers()
	}
	finalizers := slices.DeleteFunc(slices.Clone(obj.GetFinalizers()), func(f string) bool { return slices.Contains(gcFinalizers, f) && f != wanted })
	if wanted != "" && !slices.Contains(finalizers, wanted) {
		finalizers = append(finalizers, wanted)
	}
	return finalizers
}

// gcFinalizer returns the finalizer for the propagation policy of the options or, without one, of
// the resource. It returns false if neither has a policy, or the object has chosen one.
func (d *deletion) gcFinalizer(obj history.Object) (string, bool) {
	switch policy := d.opts.PropagationPolicy; {
	case d.opts.OrphanDependents != nil: //nolint:staticcheck // old clients still send it
		if *d.opts.OrphanDependents { //nolint:staticcheck // as above
			return metav1.FinalizerOrphanDependents, true
		}
		return "", true
	case policy == nil:
		chosen := slices.Contains(obj.GetFinalizers(), metav1.FinalizerDeleteDependents)
		return metav1.FinalizerOrphanDependents, d.store.Rules.Orphans && !chosen
	case *policy == metav1.DeletePropagationOrphan:
		return metav1.FinalizerOrphanDependents, true
	case *policy == metav1.DeletePropagationForeground:
		return metav1.FinalizerDeleteDependents, true
	}
	return "", true
}

// DeleteCollection deletes all objects that a list request selects. It returns them as they were
// before.
func (s *Store) DeleteCollection(namespace string, list metav1.ListOptions, opts *metav1.DeleteOptions) (*history.Page, error) {
	page, err := s.objects.List(namespace, list, 0)
	if err != nil {
		return nil, err
	}
	for _, item := range page.Items {
		_, _, err := s.Delete(item.Object.GetNamespace(), item.Object.GetName(), opts.DeepCopy())
		if err != nil && !apierrors.IsNotFound(err) {
			return nil, err
		}
	}
	return page, nil
}
