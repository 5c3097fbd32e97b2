// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package admission decides, as kube-apiserver does, which webhooks of
// MutatingWebhookConfigurations and ValidatingWebhookConfigurations are called for a write, writes
// the AdmissionReview of a call, and reads its response. It calls nothing.
//
// matchConditions are not evaluated. matchPolicy Equivalent has the effect of Exact, and
// reinvocationPolicy IfNeeded that of Never. Audit annotations and warnings are ignored.
package admission
