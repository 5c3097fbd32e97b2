// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate_test

import (
	"context"
	"fmt"
	"hash/fnv"
	"maps"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/simulate"
)

// copyAnnotations adds the annotations of a ConfigMap to the Secret of its name, and sets the
// ConfigMap's data to "2".
func copyAnnotations(ctx context.Context, c *copier, key string) error {
	source, err := c.configMaps.ConfigMaps("default").Get("a")
	if err != nil {
		return err
	}
	copied, err := c.secrets.Secrets("default").Get("a")
	if apierrors.IsNotFound(err) {
		_, err = c.client.CoreV1().Secrets("default").Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{})
		return err
	}
	next := copied.DeepCopy()
	for annotation, value := range source.Annotations {
		metav1.SetMetaDataAnnotation(&next.ObjectMeta, annotation, value)
	}
	if !maps.Equal(next.Annotations, copied.Annotations) {
		_, err = c.client.CoreV1().Secrets("default").Update(ctx, next, metav1.UpdateOptions{})
		return err
	}
	if source.Data["key"] == "2" {
		return nil
	}
	changed := source.DeepCopy()
	changed.Data["key"] = "2"
	_, err = c.client.CoreV1().ConfigMaps("default").Update(ctx, changed, metav1.UpdateOptions{})
	return err
}

func TestConflictChangesNothingThatProgramsCopy(t *testing.T) {
	test := simulate.Test{Start: start(copyAnnotations), Objects: []fake.Object{source("1")}}
	found := simulate.RunPlan(t, test, 0, simulate.Conflict{To: "1st update of configmaps default/a"})
	wantFound(t, found, "")
}

// restart writes the time into the template of the StatefulSet when the ConfigMap's data is "2".
func restart(ctx context.Context, c *copier, _ string) error {
	source, err := c.configMaps.ConfigMaps("default").Get("a")
	if err != nil || source.Data["key"] != "2" {
		return err
	}
	patch := fmt.Sprintf(`{"spec": {"template": {"metadata": {"annotations": {"restarted": %q}}}}}`, time.Now().Format(time.RFC3339))
	_, err = c.client.AppsV1().StatefulSets("default").Patch(ctx, "db", types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	return err
}

// nameRevisions is a StatefulSet controller as far as the status: a revision has a hash of the
// template in its name.
func nameRevisions(s simulate.State) []simulate.Action {
	for _, set := range simulate.All[*appsv1.StatefulSet](s) {
		hash := fnv.New32a()
		_, _ = fmt.Fprint(hash, set.Spec.Template) // never fails
		if revision := fmt.Sprintf("%s-%d", set.Name, hash.Sum32()); set.Status.UpdateRevision != revision {
			next := set.DeepCopy()
			next.Status.CurrentRevision, next.Status.UpdateRevision = revision, revision
			return []simulate.Action{{Verb: "update status", Object: next}}
		}
	}
	return nil
}

func TestHashOfTimeIsNoDifference(t *testing.T) {
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "db"}, Spec: appsv1.StatefulSetSpec{
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "db"}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "example.com/db"}}},
		},
	}}
	test := simulate.Test{
		Start: start(restart), Objects: []fake.Object{source("1"), set}, Cluster: []simulate.Actor{nameRevisions},
		Steps: func(w *simulate.World) { w.Update(source("2")) },
	}
	found := simulate.RunPlan(t, test, 0, simulate.Lag{After: "1st update of configmaps default/a by steps"})
	wantFound(t, found, "")
}
