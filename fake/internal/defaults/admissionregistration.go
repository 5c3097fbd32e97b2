// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package defaults

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func setValidatingWebhooks(webhooks []admissionregistrationv1.ValidatingWebhook) {
	for i := range webhooks {
		w := &webhooks[i]
		setNil(&w.FailurePolicy, admissionregistrationv1.Fail)
		setNil(&w.MatchPolicy, admissionregistrationv1.Equivalent)
		setNil(&w.NamespaceSelector, metav1.LabelSelector{})
		setNil(&w.ObjectSelector, metav1.LabelSelector{})
		setNil(&w.TimeoutSeconds, 10)
		setWebhookParts(&w.ClientConfig, w.Rules)
	}
}

func setMutatingWebhooks(webhooks []admissionregistrationv1.MutatingWebhook) {
	for i := range webhooks {
		w := &webhooks[i]
		setNil(&w.FailurePolicy, admissionregistrationv1.Fail)
		setNil(&w.MatchPolicy, admissionregistrationv1.Equivalent)
		setNil(&w.NamespaceSelector, metav1.LabelSelector{})
		setNil(&w.ObjectSelector, metav1.LabelSelector{})
		setNil(&w.TimeoutSeconds, 10)
		setNil(&w.ReinvocationPolicy, admissionregistrationv1.NeverReinvocationPolicy)
		setWebhookParts(&w.ClientConfig, w.Rules)
	}
}

func setWebhookParts(config *admissionregistrationv1.WebhookClientConfig, rules []admissionregistrationv1.RuleWithOperations) {
	if config.Service != nil {
		setNil(&config.Service.Port, 443)
	}
	for i := range rules {
		setNil(&rules[i].Scope, admissionregistrationv1.AllScopes)
	}
}
