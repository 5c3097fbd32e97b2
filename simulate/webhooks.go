// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/simulate/internal/admission"
)

// ServeWebhooks serves the admission webhooks of a program until ctx ends, in place of
// [http.ListenAndServeTLS]. The context must be derived from that of Test.Start. Module simulatecr
// calls it for the webhook server of a manager.
//
// The handlers receive AdmissionReviews of version v1, in goroutines of their own, for the writes
// that match the MutatingWebhookConfigurations and ValidatingWebhookConfigurations among
// Test.Objects. The path of clientConfig.service selects the handler; the service's name,
// namespace, port and certificate do not matter. Of several replicas, the first one that runs
// serves. If none does, failurePolicy applies; a run without disturbances fails if a path is not
// served at rest.
//
// A call is two stimuli, as that of a handler of [World.External]: its beginning, which is that of
// the write or the end of the call before, and its end. Mutating webhooks are called before
// validating ones, both in the order of their configurations' names. Then the write is executed; if
// its object has changed meanwhile, everything begins anew. [Crash] can be at a call: "1st call of
// website.example.com for update of websites default/web".
//
// The writes of Steps and of Test.Cluster are admitted, too. One that is not admitted, since a
// webhook denies it or a call fails, is tried again after a minute, or half of Test.Rest if that is
// shorter. One of Steps fails the run if it is still not admitted after the time Test.Rest, counted
// from the end of a Lag, Gap or BackInTime. Test.Objects, what Setup writes, and Leases and Events
// are not admitted, nor are configurations called that are not among Test.Objects. A
// deletecollection that matches fails the run, and a write that is neither of an object nor of its
// status, such as that of pods/binding. matchPolicy Equivalent has the effect of Exact, and
// reinvocationPolicy IfNeeded that of Never. matchConditions are not evaluated, which the log of
// the test says. userInfo has a username alone, which is the same for all that the cluster writes.
func ServeWebhooks(ctx context.Context, mux *http.ServeMux) error {
	p, ok := ctx.Value(processKey{}).(*process)
	if !ok {
		return errors.New("simulate: serve webhooks: the context is not derived from that of Test.Start")
	}
	p.setWebhooks(mux)
	defer p.setWebhooks(nil)
	<-ctx.Done()
	return nil
}

// setWebhooks sets the handlers of the webhooks that a process serves, or nil.
func (p *process) setWebhooks(mux *http.ServeMux) {
	s := p.scheduler
	s.mu.Lock()
	defer s.mu.Unlock()
	p.webhooks = mux
	s.notify()
}

// webhookServer returns the process that serves a path, or nil, and reports whether any serves
// webhooks.
func (s *scheduler) webhookServer(path string) (server *process, others bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.processes {
		if p.dead || p.webhooks == nil {
			continue
		}
		others = true
		_, pattern := p.webhooks.Handler(&http.Request{Method: http.MethodPost, URL: &url.URL{Path: path}})
		if pattern != "" && (server == nil || p.number < server.number) {
			server = p
		}
	}
	return server, others
}

// readWebhooks finds the configurations of webhooks among Test.Objects. It returns what is to be
// logged about them.
func (t *Test) readWebhooks() (notes []string, err error) {
	for _, obj := range t.Objects {
		gvk := obj.GetObjectKind().GroupVersionKind()
		if kinds, _, err := scheme.Scheme.ObjectKinds(obj); err == nil {
			gvk = kinds[0]
		}
		var configuration fake.Object
		switch {
		case gvk.Group != admissionregistrationv1.GroupName:
			continue
		case gvk.Kind == "MutatingWebhookConfiguration":
			configuration = &admissionregistrationv1.MutatingWebhookConfiguration{}
		case gvk.Kind == "ValidatingWebhookConfiguration":
			configuration = &admissionregistrationv1.ValidatingWebhookConfiguration{}
		default:
			continue
		}
		if gvk.Version != admissionregistrationv1.SchemeGroupVersion.Version {
			return nil, fmt.Errorf("%s of Test.Objects has version %s: want %s", describe(obj), gvk.Version, admissionregistrationv1.SchemeGroupVersion.Version)
		}
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
		if err == nil {
			err = runtime.DefaultUnstructuredConverter.FromUnstructured(fields, configuration)
		}
		if err != nil {
			return nil, fmt.Errorf("convert %s of Test.Objects: %w", describe(obj), err)
		}
		webhooks, err := webhooksOf(configuration)
		if err != nil {
			return nil, fmt.Errorf("Test.Objects: %w", err)
		}
		for _, w := range webhooks {
			if w.HasConditions {
				notes = append(notes, fmt.Sprintf("simulate does not evaluate the matchConditions of webhook %q of %s", w.Name, w.Configuration))
			}
		}
		t.configurations = append(t.configurations, configuration)
	}
	slices.SortStableFunc(t.configurations, func(a, b fake.Object) int {
		return cmp.Or(cmp.Compare(isValidating(a), isValidating(b)), cmp.Compare(a.GetName(), b.GetName()))
	})
	return notes, nil
}

// isValidating returns 1 for a ValidatingWebhookConfiguration, and 0 for another configuration.
func isValidating(configuration fake.Object) int {
	if _, ok := configuration.(*admissionregistrationv1.ValidatingWebhookConfiguration); ok {
		return 1
	}
	return 0
}

// webhooksOf returns the webhooks of a configuration.
func webhooksOf(configuration fake.Object) ([]*admission.Webhook, error) {
	if mutating, ok := configuration.(*admissionregistrationv1.MutatingWebhookConfiguration); ok {
		return admission.OfMutating(mutating)
	}
	return admission.OfValidating(configuration.(*admissionregistrationv1.ValidatingWebhookConfiguration))
}

// webhooks returns the webhooks of the configurations among Test.Objects, as they are now, in the
// order of their calls.
func (s *scheduler) webhooks() []*admission.Webhook {
	var all []*admission.Webhook
	for _, configuration := range s.test.configurations {
		current := configuration.DeepCopyObject().(fake.Object)
		err := s.server.Get(current)
		if apierrors.IsNotFound(err) {
			continue
		}
		webhooks, err := webhooksOf(current)
		if err != nil {
			s.record.fail(oracleSteps, "%v", err)
			return nil
		}
		all = append(all, webhooks...)
	}
	return all
}

// checkWebhooks fails a run that is not disturbed if a path of a webhook is not served at rest.
func (s *scheduler) checkWebhooks() {
	for _, w := range s.webhooks() {
		if server, _ := s.webhookServer(w.Path); server == nil {
			s.failUnserved(w)
		}
	}
}

// failUnserved fails a run that is not disturbed for a webhook that no process serves.
func (s *scheduler) failUnserved(w *admission.Webhook) {
	if !s.disturbed {
		s.record.fail(oracleSteps, "%s, webhook %q: no process serves the path %q. Register its handler, or leave the webhook out of Test.Objects",
			w.Configuration, w.Name, w.Path)
	}
}
