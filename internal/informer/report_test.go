// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package informer

import (
	"testing"

	"k8s.io/apimachinery/pkg/watch"
)

// The ErrorHandler of an informer may write to its store: no lock is held while it runs.
func TestErrorHandlerMayWriteToTheStore(t *testing.T) {
	var received, reported []string
	var i *Informer
	runInformer(t, []string{"a=1", "b=bad"}, func(config *Config) {
		failing(config)
		config.Store.Report = func(key string, err error) {
			if err := i.Store().Put("reported " + key + "=1"); err != nil {
				t.Error(err)
			}
			reported = append(reported, key)
		}
	}, func(h *harness) {
		i = h.Informer
		h.AddHandler("handler", record(&received), 0)
	}, func(h *harness) {
		h.send(watch.Modified, "a=bad", "11")
		h.send(watch.Modified, "a=2", "12")
		h.expect("the ErrorHandler", reported, "b", "a")
		// The list replaces what the ErrorHandler wrote while the list arrived.
		h.expect("handler", received, "A reported b →reported b=1", "D reported b reported b=1→ (initial)",
			"A a →a=1 (initial)", "A reported a →reported a=1", "U a a=1→a=2")
	})
}
