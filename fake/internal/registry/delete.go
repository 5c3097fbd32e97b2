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

// defaultGrace is the grace period of a Pod that says nothing: what the real server puts into its spec.
const defaultGrace = 30

// Delete deletes an object, or marks it with a deletionTimestamp where something holds it: finalizers, a grace period, a Namespace's own
// finalizers. It returns the object, and whether it is gone. The options may be changed.
//
// A Pod is always marked first: with the grace period that is asked for or that its spec says if it is bound to a node and has not ended, with 0
// otherwise. With 0 it is removed at once after that.
func (s *Store) Delete(namespace, name string, opts *metav1.DeleteOptions) (history.Object, bool, error) {
	mode := Checked
	if len(opts.DryRun) > 0 {
		mode = DryRun
	}
	if s.isDefinitions() && mode != DryRun {
		if err := s.undefine(name, opts); err != nil {
			return nil, false, err
		}
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
	if d.markedOnly && !d.held && mode != DryRun {
		// Between the two writes somebody else may have deleted it, which is as good.
		obj, err = s.remove(key, obj)
	}
	return s.Present(obj), !d.held, err
}

// Remove takes away an object at once, whatever holds it, and returns its last state. If a UID is given it must be the object's.
func (s *Store) Remove(namespace, name string, uid types.UID) (history.Object, error) {
	preconditions := &metav1.Preconditions{}
	if uid != "" {
		preconditions.UID = &uid
	}
	if s.isDefinitions() {
		if err := s.undefine(name, &metav1.DeleteOptions{Preconditions: preconditions}); err != nil {
			return nil, err
		}
	}
	return s.objects.Apply(history.Key(namespace, name), func(current history.Object) (history.Object, error) {
		if current == nil {
			return nil, s.notFound(name)
		}
		return nil, s.checkPreconditions(current, preconditions)
	})
}

// remove takes away a marked object.
func (s *Store) remove(key string, marked history.Object) (history.Object, error) {
	gone, err := s.objects.Apply(key, func(current history.Object) (history.Object, error) {
		if current == nil || current.GetUID() != marked.GetUID() {
			return current, errGone
		}
		return nil, nil
	})
	if errors.Is(err, errGone) {
		return marked, nil
	}
	return gone, err
}

var errGone = errors.New("the object is gone already")

// deletion is one delete of one object.
type deletion struct {
	store      *Store
	opts       *metav1.DeleteOptions
	markedOnly bool // the object was marked and not removed
	held       bool // and something holds it
}

// mark returns what becomes of the object at first: nil if it is removed at once.
func (d *deletion) mark(current history.Object) (history.Object, error) {
	if err := d.store.checkPreconditions(current, d.opts.Preconditions); err != nil {
		return nil, err
	}
	if marked := markNamespace(current); marked != nil {
		d.markedOnly, d.held = true, true
		return marked, nil
	}
	next := resource.Copy(current)
	next.SetFinalizers(finalizersFor(current, d.opts))
	graceful, pending := grace(next, d.opts)
	if pending {
		d.markedOnly, d.held = true, true
		return current, nil
	}
	d.held = len(next.GetFinalizers()) > 0 || (graceful && *d.opts.GracePeriodSeconds > 0)
	if !graceful && !d.held {
		return nil, nil
	}
	d.markedOnly = true
	if !graceful {
		markHeld(next)
	}
	if apiequality.Semantic.DeepEqual(current, next) {
		return current, nil
	}
	return next, nil
}

// grace marks a Pod and tells whether it did; or that it was marked before and the options would not shorten its time. Other kinds have no grace.
func grace(next history.Object, opts *metav1.DeleteOptions) (graceful, pending bool) {
	pod, ok := next.(*corev1.Pod)
	if !ok {
		return false, false
	}
	if pod.DeletionTimestamp != nil {
		return shorten(pod, opts)
	}
	seconds := periodOf(pod, opts)
	opts.GracePeriodSeconds = &seconds
	until := metav1.NewTime(now().Add(time.Duration(seconds) * time.Second))
	pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = &until, &seconds
	bumpGeneration(pod)
	return true, false
}

// periodOf returns the grace period of a Pod that nobody has deleted yet.
func periodOf(pod *corev1.Pod, opts *metav1.DeleteOptions) int64 {
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

// shorten applies a second delete to a Pod that is marked: a grace period can become shorter, never longer.
func shorten(pod *corev1.Pod, opts *metav1.DeleteOptions) (graceful, pending bool) {
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

// markHeld marks an object that only its finalizers hold.
func markHeld(next history.Object) {
	at := now()
	if old := next.GetDeletionTimestamp(); old == nil {
		bumpGeneration(next)
		next.SetDeletionTimestamp(&at)
	} else if at.Before(old) {
		next.SetDeletionTimestamp(&at)
	}
	next.SetDeletionGracePeriodSeconds(new(int64))
}

// bumpGeneration counts the beginning of the end, for kinds that count.
func bumpGeneration(obj history.Object) {
	if obj.GetGeneration() > 0 {
		obj.SetGeneration(obj.GetGeneration() + 1)
	}
}

// finalizersFor returns the finalizers that an object has while it is being deleted: its own, and the one that asks the garbage collector for what
// the options say about dependents.
func finalizersFor(obj history.Object, opts *metav1.DeleteOptions) []string {
	collectors := []string{metav1.FinalizerOrphanDependents, metav1.FinalizerDeleteDependents}
	wanted := ""
	switch {
	case opts.OrphanDependents != nil: //nolint:staticcheck // old clients still send it
		if *opts.OrphanDependents { //nolint:staticcheck // as above
			wanted = metav1.FinalizerOrphanDependents
		}
	case opts.PropagationPolicy == nil:
		return obj.GetFinalizers()
	case *opts.PropagationPolicy == metav1.DeletePropagationOrphan:
		wanted = metav1.FinalizerOrphanDependents
	case *opts.PropagationPolicy == metav1.DeletePropagationForeground:
		wanted = metav1.FinalizerDeleteDependents
	}
	finalizers := slices.DeleteFunc(slices.Clone(obj.GetFinalizers()), func(f string) bool { return slices.Contains(collectors, f) && f != wanted })
	if wanted != "" && !slices.Contains(finalizers, wanted) {
		finalizers = append(finalizers, wanted)
	}
	return finalizers
}

// DeleteCollection deletes all objects that a list request asks for, and returns them as they were.
func (s *Store) DeleteCollection(namespace string, list metav1.ListOptions, opts *metav1.DeleteOptions) (*history.Page, error) {
	page, err := s.objects.List(namespace, list)
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
