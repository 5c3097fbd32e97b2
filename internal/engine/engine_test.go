// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/kinformer/internal/codec"
	"github.com/kinformer/kinformer/internal/engine"
	"github.com/kinformer/kinformer/internal/feed"
	"github.com/kinformer/kinformer/internal/source"
)

// specOfPods returns a specification of an informer of Pods that keeps objects as they are.
func specOfPods() engine.Spec {
	spec := engine.Spec{Decode: func(item feed.Item) (any, error) { return codec.Decode[*corev1.Pod](item) }}
	spec.Source = source.Config{Objects: codec.ObjectType{GoType: reflect.TypeFor[*corev1.Pod]()}}
	spec.Informer.Store.ItemIndexers = map[string]func(feed.Item) ([]string, error){"all": nil}
	return spec
}

var errRefused = errors.New("refused")

// TestTransformIsAppliedBeforeTracking decodes an item with transforms that succeed and fail.
func TestTransformIsAppliedBeforeTracking(t *testing.T) {
	for name, c := range map[string]struct {
		transform func(key string, pod *corev1.Pod) (*corev1.Pod, error)
		want      string // the label of the result
		err       string
	}{
		"none": {},
		"labels the object": {transform: func(key string, pod *corev1.Pod) (*corev1.Pod, error) {
			pod.Labels = map[string]string{"key": key}
			return pod, nil
		}, want: "ns/a"},
		"fails":       {transform: func(string, *corev1.Pod) (*corev1.Pod, error) { return nil, errRefused }, err: "transform: refused"},
		"panics":      {transform: func(string, *corev1.Pod) (*corev1.Pod, error) { panic("boom") }, err: "transform: panic: boom"},
		"returns nil": {transform: func(string, *corev1.Pod) (*corev1.Pod, error) { return nil, nil }, err: "transform: the result is nil"}, //nolint:nilnil // what is tested
	} {
		t.Run(name, func(t *testing.T) {
			spec := specOfPods()
			if c.transform != nil {
				spec.Transform = func(key string, pod any) (any, error) { return c.transform(key, pod.(*corev1.Pod)) }
			}
			var tracked []string
			spec.Track = func(key string, pod any) { tracked = append(tracked, key+" "+pod.(*corev1.Pod).Labels["key"]) }
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a"}}
			_, err := spec.StoreConfig(codec.Options{}).Decode(feed.Item{Key: "ns/a", Object: pod})
			if c.err != "" {
				if err == nil || err.Error() != c.err || tracked != nil {
					t.Errorf("error %v, tracked %q; want %q, and nothing tracked", err, tracked, c.err)
				}
				return
			}
			if err != nil || len(tracked) != 1 || tracked[0] != "ns/a "+c.want {
				t.Errorf("error %v, tracked %q; want the label %q", err, tracked, c.want)
			}
		})
	}
}

// TestPackedStoreHasPackerOfKnownType checks which specifications get a packer, and index items
// without decoding them.
func TestPackedStoreHasPackerOfKnownType(t *testing.T) {
	for name, c := range map[string]struct {
		change           func(spec *engine.Spec)
		packs, itemIndex bool
	}{
		"not packed":   {func(*engine.Spec) {}, false, true},
		"packed":       {func(spec *engine.Spec) { spec.Packed = true }, true, true},
		"unknown type": {func(spec *engine.Spec) { spec.Packed, spec.Source.Objects.GoType = true, nil }, false, true},
		"transformed": {func(spec *engine.Spec) {
			spec.Packed = true
			spec.Transform = func(_ string, pod any) (any, error) { return pod, nil }
		}, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			spec := specOfPods()
			c.change(&spec)
			config := spec.StoreConfig(codec.Options{})
			if packs := config.Packer != nil; packs != c.packs {
				t.Errorf("has a packer: %v, want %v", packs, c.packs)
			}
			if itemIndex := config.ItemIndexers != nil; itemIndex != c.itemIndex {
				t.Errorf("indexes items: %v, want %v", itemIndex, c.itemIndex)
			}
		})
	}
}

// TestInvalidFieldsToOmitAreAnError assembles an informer whose path names no field.
func TestInvalidFieldsToOmitAreAnError(t *testing.T) {
	spec := specOfPods()
	spec.OmitFields = []string{"spec.nothing"}
	if assembled, err := engine.New(spec); assembled == nil || err == nil || !strings.Contains(err.Error(), "spec.nothing") {
		t.Errorf("%v, want an engine and an error on spec.nothing", err)
	}
}
