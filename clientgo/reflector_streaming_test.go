// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package clientgo_test

import (
	"context"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	clientcache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2/textlogger"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/clientgo"
)

// TestStreamingReflector checks that a reflector with Options.Streaming writes the objects that the
// client would have decoded.
func TestStreamingReflector(t *testing.T) {
	config := startCluster(t)
	cache.EnableStreaming(config)
	want, _ := storedByReflector(t, config, clientgo.Options{DisableStreaming: true})
	got, log := storedByReflector(t, config, clientgo.Options{Streaming: true, ShareEqual: true})
	if !reflect.DeepEqual(got, want) || len(got) != 2 {
		t.Errorf("the store has\n%#v, want\n%#v", got, want)
	}
	if !strings.Contains(log, "streaming=true") {
		t.Errorf("the log does not say that the reflector streams:\n%s", log)
	}
}

// storedByReflector runs a reflector until it has listed. It returns the objects and the log.
func storedByReflector(t *testing.T, config *rest.Config, options clientgo.Options) (map[string]any, string) {
	t.Helper()
	logged := &logBuffer{}
	logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(logged), textlogger.Verbosity(2)))
	store := &replacedStore{Store: clientcache.NewStore(clientcache.MetaNamespaceKeyFunc), replaced: make(chan struct{})}
	r := clientgo.With(options).NewReflectorWithOptions(podsOf(kubernetes.NewForConfigOrDie(config)), &corev1.Pod{}, store,
		clientcache.ReflectorOptions{Logger: &logger})
	stop := background(t, func(ctx context.Context) { r.Run(ctx.Done()) })
	<-store.replaced
	stop()
	objects := map[string]any{}
	for _, obj := range store.List() {
		objects[obj.(metav1.Object).GetName()] = obj
	}
	return objects, logged.log.String()
}

// replacedStore is a store that says when its first list has arrived.
type replacedStore struct {
	clientcache.Store

	replaced chan struct{}
}

func (s *replacedStore) Replace(objs []any, resourceVersion string) error {
	defer close(s.replaced)
	return s.Store.Replace(objs, resourceVersion)
}

// TestReflectorWarnsOfOptionsWithoutEffect checks that a reflector warns once of the options that
// it does not apply, and of no others.
func TestReflectorWarnsOfOptionsWithoutEffect(t *testing.T) {
	config := startCluster(t)
	const warning = "Warning: options have no effect"
	for name, c := range map[string]struct {
		options clientgo.Options
		want    string // empty for no warning
	}{
		"none":   {clientgo.Options{ShareEqual: true, RelistUpdates: true}, ""},
		"packed": {clientgo.Options{Packed: true}, `options=["Packed"]`},
		"both":   {clientgo.Options{Packed: true, Filter: func(any) bool { return false }}, `options=["Packed","Filter"]`},
		"switch": {clientgo.Options{UseClientGo: true}, `options=["UseClientGo"]`},
		"fields": {clientgo.Options{OmitFields: []string{"metadata.managedFields"}}, `options=["OmitFields"]`},
	} {
		objects, log := storedByReflector(t, config, c.options)
		if len(objects) != 2 || strings.Count(log, warning) != min(1, len(c.want)) || !strings.Contains(log, c.want) {
			t.Errorf("%s: the store has %d objects, and the log is\n%s", name, len(objects), log)
		}
	}
}
