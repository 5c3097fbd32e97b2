package faults_test

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/internal/cachetest"
)

// versionless is a source that says nothing of UIDs and versions, as client-go's fake
// clientsets do: lists are at one version, and a watch begins when it is opened.
type versionless struct {
	*cachetest.Harness
	rv string
}

func (v versionless) List(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	options.ResourceVersion = ""
	list, err := v.Harness.List(ctx, options)
	if err != nil {
		return nil, err
	}
	pods := list.(*corev1.PodList)
	pods.ResourceVersion = v.rv
	for i := range pods.Items {
		pods.Items[i].ResourceVersion, pods.Items[i].UID = "", ""
	}
	return pods, nil
}

func (v versionless) Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	options.ResourceVersion = v.ResourceVersion()
	w, err := v.Harness.Watch(ctx, options)
	if err != nil {
		return nil, err
	}
	return watch.Filter(w, func(e watch.Event) (watch.Event, bool) {
		if p, ok := e.Object.(*corev1.Pod); ok {
			p.ResourceVersion, p.UID = "", ""
		}
		return e, true
	}), nil
}
