// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/kinformer/kinformer/internal/terminal/terminaltest"
)

// TestDebugPageIsServed reads the page of the running program, on the loopback interface.
func TestDebugPageIsServed(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out, errs, code := terminaltest.NewOutput(), terminaltest.NewOutput(), make(chan int, 1)
	go func() { code <- run(ctx, []string{"--nodes", "3", "--debug-addr", ":0"}, out, errs) }()
	pattern := regexp.MustCompile(`^nodecache: the debug page is at (http://127\.0\.0\.1:\d+/)\n$`)
	errs.WaitFor(t, pattern.MatchString)
	out.WaitForText(t, "  updated  ") // the simulation starts after the initial list
	url := pattern.FindStringSubmatch(errs.String())[1]
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	page, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK || !strings.Contains(string(page), "<bdi>*v1.Node") {
		t.Errorf("got %s, %v and\n%s", response.Status, err, page)
	}
	cancel()
	if got := <-code; got != 0 {
		t.Errorf("got exit code %d and %s", got, errs)
	}
	if _, err := http.Get(url); err == nil {
		t.Error("the page is served after the end")
	}
}

func TestInvalidDebugAddress(t *testing.T) {
	for address, want := range map[string]string{
		"8080":       "nodecache: invalid --debug-addr: address 8080: missing port in address\n",
		"1.2.3.4:-1": "nodecache: serve the debug page: listen tcp: address -1: invalid port\n",
	} {
		if code, stderr := runAsync(t.Context(), terminaltest.NewOutput(), "--debug-addr", address)(t); code != 1 || stderr != want {
			t.Errorf("%s: got exit code %d and %s", address, code, stderr)
		}
	}
}
