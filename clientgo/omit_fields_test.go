// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/clientgo"
)

// TestOmitFields checks, for each type of client, streaming and not, that the stored objects lack
// the fields and have the others.
func TestOmitFields(t *testing.T) {
	config := startCluster(t)
	tapped := rest.CopyConfig(config)
	cache.EnableStreaming(tapped)
	whole := contents(t, config, clientgo.Options{}, true)
	omitted := clientgo.Options{OmitFields: []string{"metadata.labels", "metadata.managedFields"}, NeverWritten: true}
	packed := omitted
	packed.Packed = true
	decoded, packedDecoded := omitted, packed
	decoded.DisableStreaming, packedDecoded.DisableStreaming = true, true
	for _, stored := range []map[string]map[string]any{
		contents(t, tapped, omitted, true), contents(t, tapped, packed, true), contents(t, config, omitted, true),
		contents(t, config, decoded, false), contents(t, config, packedDecoded, false),
	} {
		for client, objects := range stored {
			for name, obj := range objects {
				object, before := obj.(metav1.Object), whole[client][name].(metav1.Object)
				if object.GetLabels() != nil || object.GetManagedFields() != nil || object.GetUID() != before.GetUID() || len(before.GetLabels()) == 0 {
					t.Errorf("%s: the store has %v, without omitted fields %v", client, obj, before)
				}
			}
		}
	}
}

// TestInvalidOmitFieldsOfAFactory covers an informer that cannot run: its Status and the log say
// why, and the error of the factory's wait does, too.
func TestInvalidOmitFieldsOfAFactory(t *testing.T) {
	config := startCluster(t)
	for option, options := range map[string]clientgo.Options{
		"OmitFields":   {OmitFields: []string{"spec.colour"}, NeverWritten: true},
		"NeverWritten": {OmitFields: []string{"spec.nodeName"}},
	} {
		factory := clientgo.With(options).NewSharedInformerFactory(kubernetes.NewForConfigOrDie(config), 0)
		informer := factory.Core().V1().Pods().Informer()
		logger := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true)))
		informer.RunWithContext(klog.NewContext(t.Context(), logger)) // returns at once
		status, log := clientgo.StatusOf(informer), logger.GetSink().(ktesting.Underlier).GetBuffer().String()
		if status.Phase != cache.PhaseInvalid || !strings.Contains(status.Err.Error(), options.OmitFields[0]) || !strings.Contains(log, options.OmitFields[0]) || !strings.Contains(log, option) {
			t.Errorf("status %+v, log %s", status, log)
		}
		if informer.HasSynced() {
			t.Error("the informer has synced")
		}
	}
}
