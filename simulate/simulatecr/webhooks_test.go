// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulatecr_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/simulate"
	"github.com/kinformer/kinformer/simulate/simulatecr"
)

// manifests are as controller-gen writes them to config/webhook/manifests.yaml.
const (
	mutatingManifest = `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata:
  name: mutating-webhook-configuration
webhooks:
- admissionReviewVersions: [v1]
  clientConfig:
    service: {name: webhook-service, namespace: system, path: /mutate--v1-configmap}
  failurePolicy: Fail
  name: mconfigmap.kb.io
  rules:
  - {apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [configmaps]}
  sideEffects: None
`
	validatingManifest = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata:
  name: validating-webhook-configuration
webhooks:
- admissionReviewVersions: [v1]
  clientConfig:
    service: {name: webhook-service, namespace: system, path: /validate--v1-configmap}
  failurePolicy: Fail
  name: vconfigmap.kb.io
  rules:
  - {apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [configmaps]}
  sideEffects: None
`
)

// webhookConfigurations returns the objects of the manifests.
func webhookConfigurations(t *testing.T) []fake.Object {
	t.Helper()
	mutating, validating := &admissionregistrationv1.MutatingWebhookConfiguration{}, &admissionregistrationv1.ValidatingWebhookConfiguration{}
	if err := errors.Join(yaml.Unmarshal([]byte(mutatingManifest), mutating), yaml.Unmarshal([]byte(validatingManifest), validating)); err != nil {
		t.Fatal(err)
	}
	return []fake.Object{mutating, validating}
}

// configMapWebhooks sets a default of ConfigMaps, and refuses one without a key that its reader,
// the cache of the manager, does not know.
type configMapWebhooks struct{ reader client.Reader }

// Default implements admission.CustomDefaulter.
func (configMapWebhooks) Default(_ context.Context, obj runtime.Object) error {
	configMap := obj.(*corev1.ConfigMap)
	if configMap.Data == nil {
		configMap.Data = map[string]string{}
	}
	if configMap.Data["key"] == "" {
		configMap.Data["key"] = "default"
	}
	return nil
}

// ValidateCreate implements admission.CustomValidator.
func (w configMapWebhooks) ValidateCreate(ctx context.Context, obj runtime.Object) (admission.Warnings, error) {
	if obj.(*corev1.ConfigMap).Data["key"] == "bad" {
		return nil, errors.New("a bad key")
	}
	return nil, w.reader.List(ctx, &corev1.ConfigMapList{})
}

// ValidateUpdate implements admission.CustomValidator.
func (w configMapWebhooks) ValidateUpdate(ctx context.Context, _, obj runtime.Object) (admission.Warnings, error) {
	return w.ValidateCreate(ctx, obj)
}

// ValidateDelete implements admission.CustomValidator.
func (configMapWebhooks) ValidateDelete(context.Context, runtime.Object) (admission.Warnings, error) {
	return nil, nil
}

// copyWithWebhooks adds the controller of copyToSecret and the webhooks, and a controller that
// creates a ConfigMap with a key for each Namespace.
func copyWithWebhooks(key string) func(ctrl.Manager) error {
	return func(m ctrl.Manager) error {
		webhooks := configMapWebhooks{reader: m.GetClient()}
		return errors.Join(
			ctrl.NewWebhookManagedBy(m, &corev1.ConfigMap{}).WithCustomDefaulter(webhooks).WithCustomValidator(webhooks).Complete(),
			copyToSecret(m),
			ctrl.NewControllerManagedBy(m).For(&corev1.Namespace{}).
				Complete(reconcile.Func(func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
					created := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: r.Name}, Data: map[string]string{"key": key}}
					return reconcile.Result{}, client.IgnoreAlreadyExists(m.GetClient().Create(ctx, created))
				})),
		)
	}
}

// withWebhooks returns a test of the controllers, whose Namespace exists before.
func withWebhooks(t *testing.T, key string) simulate.Test {
	t.Helper()
	return simulate.Test{
		Start:   simulatecr.Start(ctrl.Options{}, copyWithWebhooks(key)),
		Objects: append(webhookConfigurations(t), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team"}}),
		Steps: func(w *simulate.World) {
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "team"}}
			if !w.Get(secret) || string(secret.Data["key"]) != "default" {
				t.Errorf("got Secret %v, want the default of the ConfigMap", secret.Data)
			}
			w.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "user"}})
			w.Settle()
			secret.Name = "user"
			if !w.Get(secret) || string(secret.Data["key"]) != "default" {
				t.Errorf("got Secret %v, want the default of the user's ConfigMap", secret.Data)
			}
		},
	}
}

// A defaulter and a validator are called for the writes of the manager itself, and of Steps.
func TestWebhooksOfManager(t *testing.T) {
	simulate.Run(t, withWebhooks(t, ""))
}

// What the validator refuses fails the run.
func TestRefusalOfValidatorFailsRun(t *testing.T) {
	output := runInner(t, func() { simulate.Run(t, withWebhooks(t, "bad")) })
	want := `create of configmaps default/team: 403 Forbidden: admission webhook "vconfigmap.kb.io" denied the request: a bad key`
	if output != "" && !strings.Contains(output, want) {
		t.Errorf("got\n%s\nwant %s", output, want)
	}
}

// The checker of a webhook server that listens on no port reports that it is started.
func TestWebhookServerIsStarted(t *testing.T) {
	test := withWebhooks(t, "")
	test.Start = simulatecr.Start(ctrl.Options{}, func(m ctrl.Manager) error {
		return errors.Join(copyWithWebhooks("")(m), m.GetWebhookServer().StartedChecker()(nil))
	})
	simulate.Replay(t, test, 0)
}
