// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"slices"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"
)

// Webhook is a webhook of a configuration.
type Webhook struct {
	Configuration string // its kind and name: MutatingWebhookConfiguration "defaults"
	Name          string
	Mutating      bool
	// Service is the host and port of the URL, and Path its path.
	Service, Path string
	Timeout       time.Duration
	// Ignored reports whether a write goes on if the call fails.
	Ignored bool
	// HasConditions reports whether there are matchConditions.
	HasConditions bool

	sideEffects admissionregistrationv1.SideEffectClass
	rules       []admissionregistrationv1.RuleWithOperations
	namespaces  labels.Selector
	objects     labels.Selector
}

// OfMutating returns the webhooks of a configuration that has its defaults.
func OfMutating(c *admissionregistrationv1.MutatingWebhookConfiguration) ([]*Webhook, error) {
	var all []*Webhook
	for _, w := range c.Webhooks {
		webhook, err := newWebhook(fmt.Sprintf("MutatingWebhookConfiguration %q", c.Name), admissionregistrationv1.ValidatingWebhook{
			Name: w.Name, ClientConfig: w.ClientConfig, Rules: w.Rules, FailurePolicy: w.FailurePolicy, SideEffects: w.SideEffects,
			NamespaceSelector: w.NamespaceSelector, ObjectSelector: w.ObjectSelector, TimeoutSeconds: w.TimeoutSeconds, MatchConditions: w.MatchConditions,
		})
		if err != nil {
			return nil, err
		}
		webhook.Mutating = true
		all = append(all, webhook)
	}
	return all, nil
}

// OfValidating returns the webhooks of a configuration that has its defaults.
func OfValidating(c *admissionregistrationv1.ValidatingWebhookConfiguration) ([]*Webhook, error) {
	var all []*Webhook
	for _, w := range c.Webhooks {
		webhook, err := newWebhook(fmt.Sprintf("ValidatingWebhookConfiguration %q", c.Name), w)
		if err != nil {
			return nil, err
		}
		all = append(all, webhook)
	}
	return all, nil
}

// The defaults of what a configuration leaves out.
const (
	defaultPort    = 443
	defaultTimeout = 10 // seconds
)

// newWebhook returns a webhook that the program may serve. What a mutating one has beyond that is
// not simulated.
func newWebhook(configuration string, w admissionregistrationv1.ValidatingWebhook) (*Webhook, error) {
	service := w.ClientConfig.Service
	if service == nil {
		return nil, fmt.Errorf("%s: webhook %q has no clientConfig.service: only webhooks of services are called", configuration, w.Name)
	}
	path := ptr.Deref(service.Path, "/")
	if !strings.HasPrefix(path, "/") {
		return nil, fmt.Errorf("%s: webhook %q has path %q: it must begin with a slash", configuration, w.Name, path)
	}
	namespaces, err := selectorOf(w.NamespaceSelector)
	if err != nil {
		return nil, fmt.Errorf("%s: namespaceSelector of webhook %q: %w", configuration, w.Name, err)
	}
	objects, err := selectorOf(w.ObjectSelector)
	if err != nil {
		return nil, fmt.Errorf("%s: objectSelector of webhook %q: %w", configuration, w.Name, err)
	}
	return &Webhook{
		Configuration: configuration,
		Name:          w.Name,
		Service:       fmt.Sprintf("%s.%s.svc:%d", service.Name, service.Namespace, ptr.Deref(service.Port, defaultPort)),
		Path:          path,
		Timeout:       time.Duration(ptr.Deref(w.TimeoutSeconds, defaultTimeout)) * time.Second,
		Ignored:       ptr.Deref(w.FailurePolicy, admissionregistrationv1.Fail) == admissionregistrationv1.Ignore,
		HasConditions: len(w.MatchConditions) > 0,
		sideEffects:   ptr.Deref(w.SideEffects, admissionregistrationv1.SideEffectClassUnknown),
		rules:         w.Rules,
		namespaces:    namespaces,
		objects:       objects,
	}, nil
}

// selectorOf returns a selector. Without one, everything is selected.
func selectorOf(s *metav1.LabelSelector) (labels.Selector, error) {
	if s == nil {
		return labels.Everything(), nil
	}
	return metav1.LabelSelectorAsSelector(s)
}

// SupportsDryRun reports whether the webhook may be called for a dry run.
func (w *Webhook) SupportsDryRun() bool {
	return w.sideEffects == admissionregistrationv1.SideEffectClassNone || w.sideEffects == admissionregistrationv1.SideEffectClassNoneOnDryRun
}

// Matches reports whether the webhook is called for a write.
func (w *Webhook) Matches(a *Attributes) bool {
	return !a.isOfConfiguration() &&
		slices.ContainsFunc(w.rules, a.matches) &&
		(a.Namespace == "" && !a.isNamespace() || w.namespaces.Matches(a.NamespaceLabels)) &&
		(w.objects.Empty() || a.Object != nil && w.objects.Matches(labels.Set(a.Object.GetLabels())) ||
			a.OldObject != nil && w.objects.Matches(labels.Set(a.OldObject.GetLabels())))
}

// MayMatch reports whether the rules of the webhook match, whatever the object.
func (w *Webhook) MayMatch(a *Attributes) bool {
	return !a.isOfConfiguration() && slices.ContainsFunc(w.rules, a.matches)
}
