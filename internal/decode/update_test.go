// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// checkUpdate compares DecodeUpdate with Decode.
func checkUpdate(tb testing.TB, d *Decoder, oldRaw, newRaw []byte) {
	tb.Helper()
	t := d.plan.root.goType
	wantOld, err := d.Decode(oldRaw)
	want, newErr := d.Decode(newRaw)
	if err == nil {
		err = newErr
	}
	old, updated, updateErr := d.DecodeUpdate(bytes.Clone(oldRaw), bytes.Clone(newRaw))
	if (updateErr == nil) != (err == nil) {
		tb.Fatalf("%s: DecodeUpdate returns %v, Decode %v\n%x\n%x", t, updateErr, err, oldRaw, newRaw)
	}
	if err != nil {
		return
	}
	if !reflect.DeepEqual(old, wantOld) || !reflect.DeepEqual(updated, want) {
		tb.Fatalf("%s, ShareEqual %v: DecodeUpdate differs from Decode\n%x\n%x", t, d.shared != nil, oldRaw, newRaw)
	}
}

// TestUpdateDecodesLikeItsStates decodes pairs of states of all types: random ones, which are equal
// in parts, and such that differ in a few bytes.
func TestUpdateDecodesLikeItsStates(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	for _, goType := range generatedTypes(t) {
		decoders := newDecoders(t, goType)
		for seed := range int64(objectsPerType) {
			raw, other := randomEncoding(t, goType, seed, 0.5), randomEncoding(t, goType, seed+1, 1)
			for _, d := range decoders {
				checkUpdate(t, d, raw, other)
				checkUpdate(t, d, other, raw)
				if changed := mutate(random, raw); !hasSlowQuantity(changed) {
					checkUpdate(t, d, raw, changed)
					checkUpdate(t, d, changed, raw)
				}
			}
		}
	}
}

// TestUpdateOfNonstandardInput decodes pairs of encodings that no Kubernetes component writes,
// alone and beside the same other fields. A field that occurs twice has another value than its
// first encoding.
func TestUpdateOfNonstandardInput(t *testing.T) {
	for name, c := range nonstandard() {
		for otherName, other := range nonstandard() {
			if c.goType != other.goType {
				continue
			}
			t.Run(name+" to "+otherName, func(t *testing.T) {
				for _, d := range newDecoders(t, c.goType) {
					checkUpdate(t, d, c.raw, other.raw)
					checkUpdate(t, d, c.raw, join(c.raw, other.raw))
					checkUpdate(t, d, join(c.raw, other.raw), c.raw)
				}
			})
		}
	}
}

// TestUpdateSharesEqualParts also checks that a slice that is shared has no spare capacity, into
// which programs with both states would append.
func TestUpdateSharesEqualParts(t *testing.T) {
	old := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: "a", ResourceVersion: "1", Labels: map[string]string{"app": "web"}, Annotations: map[string]string{"a": "b"}, Finalizers: []string{"f"},
	}}
	old.Spec.Containers = []corev1.Container{{Name: "main", Args: []string{"--verbose"}, SecurityContext: &corev1.SecurityContext{RunAsUser: new(int64(5))}}}
	old.Spec.SecurityContext = &corev1.PodSecurityContext{SupplementalGroups: []int64{1, 2, 3}}
	old.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}}
	updated := old.DeepCopy()
	updated.ResourceVersion, updated.Annotations["a"], updated.Status.Conditions[0].Status = "2", "c", corev1.ConditionTrue
	a, b, err := newDecoder(t, reflect.TypeFor[corev1.Pod](), Options{}).DecodeUpdate(encodingOf(t, old), encodingOf(t, updated))
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(sharedPaths(a, b), " ")
	const want = "(2).ObjectMeta.Labels (2).ObjectMeta.Finalizers (2).Spec.Containers (2).Spec.SecurityContext"
	if got != want {
		t.Errorf("shared are %s, want %s", got, want)
	}
	if pod := b.(*corev1.Pod); cap(pod.Finalizers) != 1 || cap(pod.Spec.Containers) != 1 || !reflect.DeepEqual(pod, updated) {
		t.Errorf("the new state is %v, want %v", pod, updated)
	}
}
