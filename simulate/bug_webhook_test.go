// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/simulate"
)

// withWebhook makes the program of a test serve a webhook of Clusters, too.
func withWebhook(test simulate.Test, f admitFunc) simulate.Test {
	run := test.Start
	test.Start = func(ctx context.Context, config *rest.Config) error {
		mux, served := http.NewServeMux(), make(chan error)
		mux.Handle("/cluster", f.handler(nil))
		go func() { served <- simulate.ServeWebhooks(ctx, mux) }()
		return errors.Join(run(ctx, config), <-served)
	}
	return test
}

func ofClusters(w *admissionregistrationv1.ValidatingWebhook) {
	w.Rules[0].APIGroups, w.Rules[0].Resources = []string{"example.com"}, []string{"clusters"}
	w.Rules[0].Operations = w.Rules[0].Operations[:2]
}

// clusterOf returns the Cluster that a request writes.
func clusterOf(request *admissionv1.AdmissionRequest) *unstructured.Unstructured {
	cluster := &unstructured.Unstructured{}
	_ = json.Unmarshal(request.Object.Raw, cluster) // which the server has encoded
	return cluster
}

// lockedDeletion is an operator with a finalizer, and a webhook that requires a size. The Cluster
// is older than the webhook, and has none.
//
// The bug: the webhook validates the update that removes the finalizer from the deleted Cluster,
// too, and refuses it each time. The mended one admits what is being deleted.
func lockedDeletion(mended bool) simulate.Test {
	test := operatorTest(func(o *operator) syncFunc {
		return ifPresent(func(ctx context.Context, cluster *unstructured.Unstructured) error {
			if cluster.GetDeletionTimestamp() == nil {
				return nil
			}
			released := cluster.DeepCopy()
			released.SetFinalizers(nil)
			_, err := o.dynamic.Resource(clusterResource).Namespace(namespace).Update(ctx, released, metav1.UpdateOptions{})
			return err
		})
	})
	cluster := newCluster(map[string]any{}, "example.com/release")
	test.Objects = []fake.Object{validating("cluster", webhook("cluster.example.com", "/cluster", ofClusters)), cluster}
	test.Steps = func(w *simulate.World) { w.Delete(cluster) }
	return withWebhook(test, func(_ context.Context, _ kubernetes.Interface, r *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		cluster := clusterOf(r)
		if number(cluster, "spec", "replicas") == 0 && (!mended || cluster.GetDeletionTimestamp() == nil) {
			return denied("spec.replicas is required")
		}
		return allowed()
	})
}

// countedRevisions is an operator that labels the Cluster at each event, which changes nothing if
// it has the label, and a webhook that counts the revisions of the Cluster.
//
// The bug: the webhook counts each write, so that each write is an event, and the operator writes
// again. The mended one counts changes of the spec.
func countedRevisions(mended bool) simulate.Test {
	test := operatorTest(func(o *operator) syncFunc {
		return ifPresent(func(ctx context.Context, _ *unstructured.Unstructured) error {
			label := []byte(`{"metadata": {"labels": {"managed": "yes"}}}`)
			_, err := o.dynamic.Resource(clusterResource).Namespace(namespace).Patch(ctx, clusterName, types.MergePatchType, label, metav1.PatchOptions{})
			return err
		})
	})
	test.Objects = []fake.Object{mutating("cluster", webhook("cluster.example.com", "/cluster", ofClusters)), sized(1)}
	test.Steps = func(w *simulate.World) { w.Update(sized(2)) }
	return withWebhook(test, func(_ context.Context, _ kubernetes.Interface, r *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
		cluster, old := clusterOf(r), &unstructured.Unstructured{}
		_ = json.Unmarshal(r.OldObject.Raw, old) // which the server has encoded
		if mended && number(old, "spec", "replicas") == number(cluster, "spec", "replicas") {
			return allowed()
		}
		patch := fmt.Appendf(nil, `[{"op": "add", "path": "/spec/revision", "value": %d}]`, number(cluster, "spec", "revision")+1)
		return &admissionv1.AdmissionResponse{Allowed: true, PatchType: new(admissionv1.PatchTypeJSONPatch), Patch: patch}
	})
}
