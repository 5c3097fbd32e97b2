// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/internal/reflector"
)

// TestSharedOptionsHaveTheSameType compares the fields that InformerOptions and ReflectorOptions
// have in common. InformerOptions has each field of ReflectorOptions.
func TestSharedOptionsHaveTheSameType(t *testing.T) {
	informerOptions := reflect.TypeFor[cache.InformerOptions[*corev1.Pod]]()
	for field := range reflect.TypeFor[cache.ReflectorOptions]().Fields() {
		same, ok := informerOptions.FieldByName(field.Name)
		if !ok || same.Type != field.Type {
			t.Errorf("ReflectorOptions.%s is %s, InformerOptions has %v", field.Name, field.Type, same.Type)
		}
	}
}

// TestErrorsAreQuotedInTheirDocumentation looks for the text of each error in errors.go.
func TestErrorsAreQuotedInTheirDocumentation(t *testing.T) {
	code, err := os.ReadFile("errors.go")
	if err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile(`\n\t?// `).ReplaceAllString(string(code), " ")
	for _, err := range []error{
		cache.ErrAlreadyRunning, cache.ErrStopped, cache.ErrHandlerBlocked, cache.ErrFunctionBlocked,
		cache.ErrVersionRegressed, cache.ErrHistoryChanged, cache.ErrStalled, cache.ErrMutated,
		cache.ErrNotStored, cache.ErrNoScope, cache.ErrNotSelected, cache.ErrSkip,
	} {
		if !strings.Contains(text, `("`+err.Error()+`")`) {
			t.Errorf("the documentation of the error %q does not quote it", err)
		}
	}
}

// TestPhasesMatchEngine compares the phases that package cache declares with those of the engine.
func TestPhasesMatchEngine(t *testing.T) {
	for public, internal := range map[cache.Phase]reflector.Phase{
		cache.PhaseIdle: reflector.Idle, cache.PhaseListing: reflector.Listing, cache.PhaseWatching: reflector.Watching,
		cache.PhaseResuming: reflector.Resuming, cache.PhaseRetrying: reflector.Retrying, cache.PhaseStopped: reflector.Stopped,
	} {
		if string(public) != string(internal) {
			t.Errorf("phase %q is not %q", internal, public)
		}
	}
}
