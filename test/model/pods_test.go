// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinformer/kinformer/cache"
)

// What the informer's functions do with a state is written in the state itself, so that the model
// knows it too.
const (
	badTransform = "transform" // Transform returns an error
	badPanic     = "panic"     // Transform panics
	badSkip      = "skip"      // Transform ignores the state
	badFilter    = "filter"    // Filter panics
	badRefused   = "refused"   // Filter refuses the state
	badIndex     = "index"     // the index function returns an error
	badBytes     = "bytes"     // over HTTP, the bytes cannot be decoded
	badLarge     = "large"     // over HTTP, the object is larger than maxObject
)

var badStates = []string{badTransform, badPanic, badSkip, badFilter, badRefused, badIndex}

// isKept reports whether the store keeps the last good state instead of this one.
func (s state) isKept() bool {
	return s.bad == badBytes || s.bad == badLarge || s.bad == badTransform || s.bad == badPanic || s.bad == badSkip || s.bad == badFilter
}

const (
	valueImage  = "value:" // and the value are an image
	badLabel    = "bad"
	transformed = "transformed" // the annotation that Transform adds
	nodeIndex   = "node"
	nodes       = 3
	maxObject   = 2000
	corruptNode = "corrupt" // of the states that cannot be decoded
)

// podOf returns the Pod of a state.
func podOf(s state) *corev1.Pod {
	namespace, name, _ := strings.Cut(s.key, "/")
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name, UID: types.UID(s.uid), ResourceVersion: formatVersion(s.version),
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: s.key, Time: new(metav1.Unix(int64(s.value), 0))}},
	}}
	if s.bad != "" {
		pod.Labels = map[string]string{badLabel: s.bad}
	}
	pod.Spec = corev1.PodSpec{
		NodeName: "node-" + strconv.Itoa(s.value%nodes), Hostname: name,
		Containers: []corev1.Container{{Name: name, Image: valueImage + strconv.Itoa(s.value)}},
		Volumes: []corev1.Volume{{Name: name, VolumeSource: corev1.VolumeSource{
			ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}, Optional: new(s.value%2 == 0)},
		}}},
	}
	pod.Status.Phase = corev1.PodRunning
	switch s.bad {
	case badBytes:
		pod.Spec.NodeName = corruptNode
	case badLarge:
		pod.Annotations = map[string]string{badLarge: strings.Repeat("x", maxObject)}
	}
	return pod
}

// partialPod is a Pod of some fields.
type partialPod = cache.PartialObject[*corev1.Pod, podFields]

type podFields struct {
	Spec struct {
		NodeName   string           `json:"nodeName"`
		Containers []containerImage `json:"containers"`
		Volumes    []volume         `json:"volumes"`
	} `json:"spec"`
	Status struct {
		Phase corev1.PodPhase `json:"phase"`
	} `json:"status"`
}

type containerImage struct {
	Image string `json:"image"`
}

// volume has fields of structs that the API inlines.
type volume struct {
	ConfigMap *configMapVolume `json:"configMap"`
}

type configMapVolume struct {
	Name     string `json:"name"`
	Optional *bool  `json:"optional"`
}

// fieldsOf returns the fields that a partialPod has of a Pod.
func fieldsOf(pod *corev1.Pod) (f podFields) {
	f.Spec.NodeName, f.Status.Phase = pod.Spec.NodeName, pod.Status.Phase
	for _, c := range pod.Spec.Containers {
		f.Spec.Containers = append(f.Spec.Containers, containerImage{c.Image})
	}
	for _, v := range pod.Spec.Volumes {
		f.Spec.Volumes = append(f.Spec.Volumes, volume{&configMapVolume{v.ConfigMap.Name, v.ConfigMap.Optional}})
	}
	return f
}

// nodeOf returns the node of a Pod or partialPod.
func nodeOf(pod cache.Object) string {
	if partial, ok := pod.(*partialPod); ok {
		return partial.Fields.Spec.NodeName
	}
	return pod.(*corev1.Pod).Spec.NodeName
}

// imageOf returns the image of the container of a Pod or partialPod, which names the value.
func imageOf(pod cache.Object) (image string) {
	if partial, ok := pod.(*partialPod); ok {
		for _, c := range partial.Fields.Spec.Containers {
			image = c.Image
		}
		return image
	}
	for _, c := range pod.(*corev1.Pod).Spec.Containers {
		image = c.Image
	}
	return image
}

// stateOf returns the state of a Pod.
func stateOf(pod cache.Object) state {
	value, _ := strconv.Atoi(strings.TrimPrefix(imageOf(pod), valueImage))
	return state{
		key: pod.GetNamespace() + "/" + pod.GetName(), uid: string(pod.GetUID()), version: parseVersion(pod.GetResourceVersion()),
		value: value, bad: pod.GetLabels()[badLabel],
	}
}

var errBad = errors.New("set by the program")

// transform adds an annotation, in place, with the number of times that it was called.
func transform(pod cache.Object) error {
	switch pod.GetLabels()[badLabel] {
	case badTransform:
		return errBad
	case badPanic:
		panic(errBad)
	case badSkip:
		return fmt.Errorf("%w: %w", cache.ErrSkip, errBad)
	}
	times, _ := strconv.Atoi(pod.GetAnnotations()[transformed])
	pod.SetAnnotations(map[string]string{transformed: strconv.Itoa(times + 1)})
	return nil
}

func filter(pod cache.Object) bool {
	if pod.GetLabels()[badLabel] == badFilter {
		panic(errBad)
	}
	return pod.GetLabels()[badLabel] != badRefused
}

func indexNode(pod cache.Object) ([]string, error) {
	if pod.GetLabels()[badLabel] == badIndex {
		return nil, errBad
	}
	return []string{nodeOf(pod)}, nil
}

// intact returns an error if a cached Pod is not the transformed Pod of its state, without
// managedFields if the informer omits them, or some of its fields.
func intact(pod cache.Object, o options) error {
	s := stateOf(pod)
	if managed := pod.GetManagedFields(); (len(managed) == 0) != (o.Omit || o.Partial) {
		return fmt.Errorf("%v was stored with the managedFields %v", s, managed)
	}
	wantTimes := "1"
	if o.NoTransform {
		wantTimes = ""
	}
	if times := pod.GetAnnotations()[transformed]; times != wantTimes {
		return fmt.Errorf("%v was transformed %s times", s, cmp.Or(times, "0"))
	}
	want := podOf(s)
	labels := len(want.Labels)
	if _, added := pod.GetLabels()[addedLabel]; added && o.Skewed {
		labels++
	}
	if nodeOf(pod) != want.Spec.NodeName || len(pod.GetLabels()) != labels {
		return fmt.Errorf("%v was stored with the labels %v and the node %q", s, pod.GetLabels(), nodeOf(pod))
	}
	if partial, ok := pod.(*partialPod); ok && !reflect.DeepEqual(partial.Fields, fieldsOf(want)) {
		return fmt.Errorf("%v was stored with the fields %+v", s, partial.Fields)
	}
	return nil
}

func (s state) String() string {
	text := fmt.Sprintf("%s(%s)@%d=%d%s", s.key, s.uid, s.version, s.value, s.bad)
	if s.deleted {
		return "deleted " + text
	}
	return text
}
