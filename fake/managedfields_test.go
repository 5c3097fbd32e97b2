// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package fake_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/kinformer/kinformer/fake"
)

func newConfigMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Data: map[string]string{"k": "1"}}
}

// configMapsAs returns a client with a User-Agent.
func configMapsAs(t *testing.T, server *fake.APIServer, userAgent string) corev1client.ConfigMapInterface {
	t.Helper()
	config := server.Config()
	config.UserAgent = userAgent
	client, err := kubernetes.NewForConfig(config)
	must(t, err)
	return client.CoreV1().ConfigMaps("ns")
}

// The manager is the fieldManager of the request or else the User-Agent up to the first slash, of
// at most 128 printable bytes.
func TestManagerIsNamedByTheRequest(t *testing.T) {
	server := startServer(t, fake.APIServerOptions{InMemory: true})
	for name, tc := range map[string]struct{ agent, manager, want string }{
		"agent":     {"controller/v1 (linux/amd64)", "", "controller"},
		"option":    {"controller/v1", "me", "me"},
		"long":      {strings.Repeat("x", 200), "", strings.Repeat("x", 128)},
		"cut-rune":  {strings.Repeat("x", 127) + "ü/v1", "", strings.Repeat("x", 127)},
		"no-prefix": {"/v1", "", "unknown"},
	} {
		created, err := configMapsAs(t, server, tc.agent).Create(t.Context(), newConfigMap(name), metav1.CreateOptions{FieldManager: tc.manager})
		must(t, err)
		if len(created.ManagedFields) != 1 || created.ManagedFields[0].Manager != tc.want {
			t.Errorf("User-Agent %q, fieldManager %q: got %v, want %q", tc.agent, tc.manager, created.ManagedFields, tc.want)
		}
	}
}

// Writes without HTTP record no managers.
func TestWritesInProcessRecordNoManager(t *testing.T) {
	server := startServer(t, fake.APIServerOptions{InMemory: true})
	m := newConfigMap("m")
	must(t, server.Create(m))
	m.Data["k"] = "2"
	must(t, server.Update(m))
	if len(m.ManagedFields) > 0 {
		t.Errorf("got %v", m.ManagedFields)
	}
}

func TestTypedClientApplies(t *testing.T) {
	server := startServer(t, fake.APIServerOptions{InMemory: true})
	maps := configMapsAs(t, server, "")
	apply := func(manager string, data map[string]string, force bool) error {
		config := applycorev1.ConfigMap("m", "ns").WithData(data)
		_, err := maps.Apply(t.Context(), config, metav1.ApplyOptions{FieldManager: manager, Force: force})
		return err
	}
	must(t, apply("a", map[string]string{"k": "1", "l": "1"}, false))
	if err := apply("b", map[string]string{"k": "2"}, false); !apierrors.IsConflict(err) || !apierrors.HasStatusCause(err, metav1.CauseTypeFieldManagerConflict) {
		t.Errorf("apply of another manager's field: got %v, want a conflict", err)
	}
	must(t, apply("b", map[string]string{"k": "2"}, true))
	must(t, apply("a", nil, false))
	got, err := maps.Get(t.Context(), "m", metav1.GetOptions{})
	must(t, err)
	if len(got.Data) != 1 || got.Data["k"] != "2" {
		t.Errorf("got %v, want the field of b alone", got.Data)
	}
	extracted, err := applycorev1.ExtractConfigMap(got, "b")
	must(t, err)
	if extracted.Data["k"] != "2" {
		t.Errorf("got applied configuration %v", extracted)
	}
}

func TestDynamicClientAppliesCustomResource(t *testing.T) {
	server := startServer(t, fake.APIServerOptions{InMemory: true, CustomResources: []fake.CustomResource{gear}})
	client := clientOf(t, server)
	gears := client.Resource(gearsV1).Namespace("ns")
	applied, err := gears.Apply(t.Context(), "a", newGear("a", map[string]any{"size": int64(4)}), metav1.ApplyOptions{FieldManager: "me"})
	must(t, err)
	expectField(t, applied, map[string]any{"size": int64(4)}, "spec")
	status := newGear("a", map[string]any{"size": int64(5)})
	status.Object["status"] = map[string]any{"ready": true}
	applied, err = gears.ApplyStatus(t.Context(), "a", status, metav1.ApplyOptions{FieldManager: "me"})
	must(t, err)
	expectField(t, applied, map[string]any{"ready": true}, "status")
	expectField(t, applied, map[string]any{"size": int64(4)}, "spec")
}
