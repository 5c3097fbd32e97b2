package registry

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/kinformer/fake/internal/history"
)

// Replica is the server that answers a read: at the zero value one that has everything; otherwise one that has come no further than that version.
type Replica uint64

// Get returns one object, not older than a version if one is given: 504 if it has not been reached.
func (s *Store) Get(namespace, name, version string, replica Replica) (history.Object, error) {
	if err := s.reached(version, replica); err != nil {
		return nil, err
	}
	obj, ok, err := s.get(history.Key(namespace, name), replica)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, s.notFound(name)
	}
	return s.Present(obj), nil
}

func (s *Store) get(key string, replica Replica) (history.Object, bool, error) {
	if replica > 0 {
		return s.objects.GetAt(key, uint64(replica))
	}
	obj, ok := s.objects.Get(key)
	return obj, ok, nil
}

func (s *Store) reached(version string, replica Replica) error {
	if version == "" {
		return nil
	}
	wanted, err := history.ParseVersion(version)
	if err != nil {
		return err
	}
	current := s.memory.Version()
	if replica > 0 {
		current = uint64(replica)
	}
	if wanted > current {
		return history.TooLarge(wanted, current)
	}
	return nil
}

// Page answers a list request. Its items are as they are stored.
func (s *Store) Page(namespace string, opts metav1.ListOptions, replica Replica) (*history.Page, error) {
	if replica > 0 {
		return s.objects.ListAt(namespace, opts, uint64(replica))
	}
	return s.objects.List(namespace, opts)
}

// ListOf makes the list of a page, read only.
func (s *Store) ListOf(page *history.Page) (runtime.Object, error) {
	return s.List(page.Items, metav1.ListMeta{
		ResourceVersion:    history.FormatVersion(page.Version),
		Continue:           page.Continue,
		RemainingItemCount: page.Remaining,
	})
}

// Watch answers a watch request. Its events have objects as they are stored.
func (s *Store) Watch(namespace string, opts metav1.ListOptions, replica Replica) (*history.Watcher, error) {
	if replica > 0 {
		return s.objects.WatchAt(namespace, opts, uint64(replica))
	}
	return s.objects.Watch(namespace, opts)
}
