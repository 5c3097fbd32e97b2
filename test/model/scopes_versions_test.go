// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"context"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/fake"
)

// scopedCollection is a collection whose versions begin at the versionBase of the program: those of
// package fake begin at 1, and are less than 2^64.
type scopedCollection struct {
	*fake.ListerWatcher[*corev1.ConfigMap]
}

// toProgram returns the version of the program for one of package fake.
func toProgram(version string) string {
	if n, err := strconv.ParseUint(version, 10, 64); err == nil {
		return formatVersion(n)
	}
	return version
}

// toFake returns the version of package fake for one of the program. An empty version and 0 have a
// meaning of their own.
func toFake(version string) string {
	if version == "" {
		return ""
	}
	return strconv.FormatUint(parseVersion(version), 10)
}

func (c scopedCollection) optionsOf(options metav1.ListOptions) metav1.ListOptions {
	options.ResourceVersion = toFake(options.ResourceVersion)
	return options
}

// List implements cache.ListerWatcher.
func (c scopedCollection) List(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	list, err := c.ListerWatcher.List(ctx, c.optionsOf(options))
	if err != nil {
		return nil, err
	}
	configMaps := list.(*corev1.ConfigMapList)
	configMaps.ResourceVersion = toProgram(configMaps.ResourceVersion)
	for i := range configMaps.Items {
		withProgramVersion(&configMaps.Items[i])
	}
	return list, nil
}

// Watch returns a watch whose events have versions of package fake.
func (c scopedCollection) Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	return c.ListerWatcher.Watch(ctx, c.optionsOf(options))
}

// withProgramVersion replaces the version of an object of package fake, which it returns.
func withProgramVersion(obj *corev1.ConfigMap) *corev1.ConfigMap {
	obj.ResourceVersion = toProgram(obj.ResourceVersion)
	return obj
}

func (c scopedCollection) ResourceVersion() string {
	return toProgram(c.ListerWatcher.ResourceVersion())
}

func (c scopedCollection) Restore(version string) { c.ListerWatcher.Restore(toFake(version)) }

func (c scopedCollection) Create(obj *corev1.ConfigMap) *corev1.ConfigMap {
	return withProgramVersion(c.ListerWatcher.Create(obj))
}

func (c scopedCollection) Update(obj *corev1.ConfigMap) *corev1.ConfigMap {
	return withProgramVersion(c.ListerWatcher.Update(obj))
}

func (c scopedCollection) Delete(key string) *corev1.ConfigMap {
	return withProgramVersion(c.ListerWatcher.Delete(key))
}

func (c scopedCollection) Get(key string) (obj *corev1.ConfigMap, exists bool) {
	if obj, exists = c.ListerWatcher.Get(key); exists {
		withProgramVersion(obj)
	}
	return obj, exists
}
