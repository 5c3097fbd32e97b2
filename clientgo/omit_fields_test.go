// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo_test

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	clientcache "k8s.io/client-go/tools/cache"
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
	for _, options := range []clientgo.Options{
		{OmitFields: []string{"spec.colour"}, NeverWritten: true},
		{OmitFields: []string{"spec.nodeName"}},
	} {
		factory := clientgo.With(options).NewSharedInformerFactory(kubernetes.NewForConfigOrDie(config), 0)
		informer := factory.Core().V1().Pods().Informer()
		logger := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true)))
		informer.RunWithContext(klog.NewContext(t.Context(), logger)) // returns at once
		status, log := clientgo.StatusOf(informer), logger.GetSink().(ktesting.Underlier).GetBuffer().String()
		if status.Phase != cache.PhaseInvalid || !strings.Contains(status.Err.Error(), options.OmitFields[0]) || !strings.Contains(log, options.OmitFields[0]) {
			t.Errorf("status %+v, log %s", status, log)
		}
		if informer.HasSynced() {
			t.Error("the informer has synced")
		}
	}
}

// TestUpdateWithObjectOfAdapterIsRefused covers updates with objects of an adapted informer.
func TestUpdateWithObjectOfAdapterIsRefused(t *testing.T) {
	config := startCluster(t)
	cache.EnableStreaming(config)
	client := kubernetes.NewForConfigOrDie(config)
	factory := clientgo.With(clientgo.Options{OmitFields: []string{"metadata.labels"}, NeverWritten: true, Packed: true}).NewSharedInformerFactory(client, 0)
	pods := factory.Core().V1().Pods()
	informer := pods.Informer()
	if !clientcache.WaitForCacheSync(startFactory(t, factory), informer.HasSynced) {
		t.Fatal("the informer has not synced")
	}
	cached, err := pods.Lister().Pods("default").Get("web-0")
	if err != nil {
		t.Fatal(err)
	}
	update := func(pod *corev1.Pod) error {
		_, err := client.CoreV1().Pods("default").Update(t.Context(), pod, metav1.UpdateOptions{})
		return err
	}
	if err := update(cached.DeepCopy()); !errors.Is(err, cache.ErrOmittedFields) {
		t.Errorf("an update with a cached object returned %v", err)
	}
	current, err := client.CoreV1().Pods("default").Get(t.Context(), "web-0", metav1.GetOptions{})
	if err != nil || len(current.Labels) == 0 {
		t.Fatalf("the server has %v, %v", current, err)
	}
	if err := update(current); err != nil {
		t.Errorf("an update with the server's object returned %v", err)
	}
}
