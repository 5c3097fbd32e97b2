// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package debugpage

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// browsers are the names of the programs that the tests can drive.
var browsers = []string{"chromium", "chromium-browser", "google-chrome"}

// browser is a running browser.
type browser struct{ ctx context.Context }

// startBrowser starts a browser, which ends with the test. It skips the test if none is installed.
func startBrowser(t *testing.T) browser {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(browserPath(t)), chromedp.UserDataDir(t.TempDir()), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.WSURLReadTimeout(time.Minute), // the first start is slow on a busy machine
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true), chromedp.WindowSize(1280, 900))
	allocator, end := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(end)
	ctx, closeTab := chromedp.NewContext(allocator)
	t.Cleanup(closeTab)
	if err := chromedp.Do(ctx, chromedp.Navigate("about:blank")); err != nil {
		t.Fatalf("start the browser: %v", err)
	}
	return browser{ctx}
}

func browserPath(t *testing.T) string {
	t.Helper()
	for _, name := range browsers {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skipf("SKIPPED: none of %s is in PATH, so the debug page is not tested in a browser", strings.Join(browsers, ", "))
	return ""
}

// tab is a tab of a browser, which records what the page must not do.
type tab struct {
	t   *testing.T
	ctx context.Context

	mu       sync.Mutex // guards the fields below
	requests []string
	messages []string // of the console
}

// newTab opens a tab whose pages refresh 20 times as fast. It is closed when the test ends.
func (b browser) newTab(t *testing.T) *tab {
	t.Helper()
	ctx, closeTab := chromedp.NewContext(b.ctx)
	t.Cleanup(closeTab)
	ctx, expire := context.WithTimeout(ctx, time.Minute)
	t.Cleanup(expire)
	tb := &tab{t: t, ctx: ctx}
	if err := chromedp.Listen(ctx, tb.record); err != nil {
		t.Fatal(err)
	}
	call(tb, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{
		Source: "{ const original = setTimeout; window.setTimeout = (f, ms) => original(f, ms / 20); }",
	})
	go tb.readConsole()
	return tb
}

// record is called with every event of the tab.
func (tb *tab) record(event any) {
	if sent, ok := event.(*network.EventRequestWillBeSent); ok {
		tb.mu.Lock()
		defer tb.mu.Unlock()
		tb.requests = append(tb.requests, sent.Request.URL)
	}
}

func (tb *tab) readConsole() {
	for message, err := range chromedp.Console(tb.ctx) {
		if err != nil {
			return // the tab is closed
		}
		tb.mu.Lock()
		tb.messages = append(tb.messages, message.Text)
		tb.mu.Unlock()
	}
}

// expectQuiet fails if the page has written to the console, or made a request to another server.
func (tb *tab) expectQuiet(server *httptest.Server) {
	tb.t.Helper()
	tb.mu.Lock()
	defer tb.mu.Unlock()
	if len(tb.messages) > 0 {
		tb.t.Errorf("messages of the console: %q", tb.messages)
	}
	if len(tb.requests) == 0 {
		tb.t.Error("no requests were recorded")
	}
	for _, url := range tb.requests {
		if !strings.HasPrefix(url, server.URL+prefix) {
			tb.t.Errorf("request to %s", url)
		}
	}
}

// do performs steps.
func (tb *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	tb.t.Helper()
	if err := chromedp.Do(tb.ctx, steps...); err != nil {
		tb.t.Fatal(err)
	}
}

// eval returns the value of an expression in the page.
func eval[T any](tb *tab, expression string) T {
	tb.t.Helper()
	value, err := chromedp.Run(tb.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		tb.t.Fatalf("%s: %v", expression, err)
	}
	return value
}

// wait blocks until an expression is true in the page.
func (tb *tab) wait(expression string) {
	tb.t.Helper()
	eval[bool](tb, fmt.Sprintf(`new Promise(resolve => {
		const check = () => (%s) ? resolve(true) : requestAnimationFrame(check);
		check();
	})`, expression))
}

// text returns the text of the first element that a selector selects.
func (tb *tab) text(selector string) string {
	tb.t.Helper()
	text, err := chromedp.Run(tb.ctx, chromedp.TextContent(chromedp.CSS(selector)))
	if err != nil {
		tb.t.Fatalf("%s: %v", selector, err)
	}
	return strings.Join(strings.Fields(text), " ")
}

// prefer emulates a preference of the user, such as prefers-color-scheme: dark.
func (tb *tab) prefer(feature, value string) {
	tb.t.Helper()
	call(tb, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: feature, Value: value}}})
}

// call runs a command of the browser's protocol.
func call[P, R any](tb *tab, command cdp.Command[P, R], params P) R {
	tb.t.Helper()
	result, err := chromedp.Call(tb.ctx, command, params)
	if err != nil {
		tb.t.Fatalf("%s: %v", command.Method, err)
	}
	return result
}

// unquote returns the text of a value of the accessibility tree.
func unquote(value *accessibility.Value) string {
	if value == nil {
		return ""
	}
	var text string
	_ = json.Unmarshal([]byte(value.Value), &text) // another type has no text
	return text
}
