package clientgo_test

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	clientcache "k8s.io/client-go/tools/cache"
)

// scripted is an empty collection at version 1, and a watch of what is sent.
type scripted struct {
	declares
	*clientcache.ListWatch

	stream *watch.FakeWatcher
}

func newScripted() *scripted {
	s := &scripted{stream: watch.NewFake()}
	s.ListWatch = &clientcache.ListWatch{
		ListFunc: func(metav1.ListOptions) (runtime.Object, error) {
			return &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}}, nil
		},
		WatchFunc: func(metav1.ListOptions) (watch.Interface, error) { return s.stream, nil },
	}
	return s
}

func (s *scripted) send(event watch.EventType, obj runtime.Object) { s.stream.Action(event, obj) }

func versioned(pod *corev1.Pod, version int) *corev1.Pod {
	pod.ResourceVersion, pod.UID = strconv.Itoa(version), types.UID("uid-"+pod.Name)
	return pod
}
