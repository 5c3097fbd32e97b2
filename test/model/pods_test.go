// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"cmp"
	"errors"
	"fmt"
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
	valueLabel  = "value"
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
		Labels:        map[string]string{valueLabel: strconv.Itoa(s.value)},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: s.key, Time: new(metav1.Unix(int64(s.value), 0))}},
	}}
	if s.bad != "" {
		pod.Labels[badLabel] = s.bad
	}
	pod.Spec.NodeName = "node-" + strconv.Itoa(s.value%nodes)
	switch s.bad {
	case badBytes:
		pod.Spec.NodeName = corruptNode
	case badLarge:
		pod.Annotations = map[string]string{badLarge: strings.Repeat("x", maxObject)}
	}
	return pod
}

// stateOf returns the state of a Pod.
func stateOf(pod *corev1.Pod) state {
	value, _ := strconv.Atoi(pod.Labels[valueLabel])
	return state{
		key: pod.Namespace + "/" + pod.Name, uid: string(pod.UID), version: parseVersion(pod.ResourceVersion),
		value: value, bad: pod.Labels[badLabel],
	}
}

var errBad = errors.New("set by the program")

// transform adds an annotation, in place, with the number of times that it was called.
func transform(pod *corev1.Pod) (*corev1.Pod, error) {
	switch pod.Labels[badLabel] {
	case badTransform:
		return nil, errBad
	case badPanic:
		panic(errBad)
	case badSkip:
		return nil, fmt.Errorf("%w: %w", cache.ErrSkip, errBad)
	}
	times, _ := strconv.Atoi(pod.Annotations[transformed])
	pod.Annotations = map[string]string{transformed: strconv.Itoa(times + 1)}
	return pod, nil
}

func filter(pod *corev1.Pod) bool {
	if pod.Labels[badLabel] == badFilter {
		panic(errBad)
	}
	return pod.Labels[badLabel] != badRefused
}

func indexNode(pod *corev1.Pod) ([]string, error) {
	if pod.Labels[badLabel] == badIndex {
		return nil, errBad
	}
	return []string{pod.Spec.NodeName}, nil
}

// intact returns an error if a cached Pod is not the transformed Pod of its state, without
// managedFields if the informer omits them.
func intact(pod *corev1.Pod, o options) error {
	s := stateOf(pod)
	if (len(pod.ManagedFields) == 0) != o.Omit {
		return fmt.Errorf("%v was stored with the managedFields %v", s, pod.ManagedFields)
	}
	if times := pod.Annotations[transformed]; times != "1" {
		return fmt.Errorf("%v was transformed %s times", s, cmp.Or(times, "0"))
	}
	if want := podOf(s); pod.Spec.NodeName != want.Spec.NodeName || len(pod.Labels) != len(want.Labels) {
		return fmt.Errorf("%v was stored with the labels %v and the node %q", s, pod.Labels, pod.Spec.NodeName)
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
