// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"flag"
	"runtime"
	"testing"
)

// bubbleTest returns a test for testing/synctest, which needs a *testing.T, and a function that
// ends it: the given one, or an empty test that package testing runs beside it.
func bubbleTest(t TestingT) (bubble *testing.T, end func()) {
	t.Helper()
	if t, ok := t.(*testing.T); ok {
		return t, func() {}
	}
	quiet := map[string]string{"test.run": "", "test.skip": "", "test.failfast": "false", "test.v": "false"}
	defer setFlags(quiet)()
	procs := runtime.GOMAXPROCS(0)
	running, done, ended := make(chan *testing.T), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		testing.RunTests(func(string, string) (bool, error) { return true, nil }, []testing.InternalTest{{Name: t.Name(), F: func(t *testing.T) {
			t.Helper()
			select {
			case running <- t:
				<-done
			case <-done: // the test is run again, for another number of processors
			}
		}}})
	}()
	select {
	case bubble = <-running:
	case <-ended:
		t.Fatalf("simulate: package testing runs no test")
	}
	return bubble, func() {
		defer setFlags(quiet)() // for the other numbers of processors
		close(done)
		<-ended
		runtime.GOMAXPROCS(procs) // which RunTests sets
	}
}

// setFlags sets flags of package testing. The returned function undoes it.
func setFlags(values map[string]string) (undo func()) {
	before := map[string]string{}
	for name, value := range values {
		if f := flag.Lookup(name); f != nil {
			before[name] = f.Value.String()
			_ = f.Value.Set(value) // a value that the flag has
		}
	}
	return func() {
		for name, value := range before {
			_ = flag.Set(name, value)
		}
	}
}
