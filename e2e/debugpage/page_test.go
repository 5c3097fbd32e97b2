// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package debugpage

import (
	"flag"
	"fmt"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// prefix is the path below which the page is served.
const prefix = "/debug/informers/"

var screenshots = flag.String("screenshots", "", "write screenshots of the pages to this directory")

// TestDebugPage drives the page in a browser.
func TestDebugPage(t *testing.T) {
	browser := startBrowser(t)
	s := newScene(t)
	server := httptest.NewServer(s.handler())
	t.Cleanup(server.Close)
	overview := server.URL + prefix
	for name, test := range map[string]func(*testing.T, *tab){
		"refresh":       func(t *testing.T, tb *tab) { testRefresh(t, tb, s) },
		"pause":         testPause,
		"filter":        testFilter,
		"no JavaScript": testWithoutJavaScript,
		"keyboard":      testKeyboard,
		"accessibility": testAccessibility,
		"schemes":       testSchemes,
		"widths":        testWidths,
		"screenshots":   testScreenshots,
	} {
		t.Run(name, func(t *testing.T) {
			tb := browser.newTab(t)
			tb.do(chromedp.Navigate(overview))
			test(t, tb)
			tb.expectQuiet(server)
		})
	}
	t.Run("lost connection", func(t *testing.T) {
		tb := browser.newTab(t)
		tb.do(chromedp.Navigate(overview))
		testLostConnection(t, tb, server)
	})
}

// testRefresh changes a number of the page without loading it again, and keeps the focus.
func testRefresh(t *testing.T, tb *tab, s *scene) {
	t.Helper()
	row := eval[string](tb, `[...document.querySelectorAll("#informer-rows tr")].find(row => row.textContent.includes("configmaps")).id`)
	objects := fmt.Sprintf(`document.querySelector("#%s td:nth-child(3)").textContent`, row)
	before := eval[string](tb, objects)
	eval[bool](tb, fmt.Sprintf(`window.loadedOnce = true; document.querySelector("#%s a").focus(); true`, row))
	s.addConfigMap("added")
	tb.wait(fmt.Sprintf(`%s !== %q`, objects, before))
	if got := eval[string](tb, objects); got != "4" {
		t.Errorf("got %s objects, had %s", got, before)
	}
	if !eval[bool](tb, fmt.Sprintf(`window.loadedOnce && document.activeElement === document.querySelector("#%s a")`, row)) {
		t.Error("the page was loaded again, or lost the focus")
	}
}

// testPause stops refreshing, also with an answer that arrives later, and goes on.
func testPause(t *testing.T, tb *tab) {
	t.Helper()
	const resources = `performance.getEntriesByType("resource").filter(e => e.initiatorType === "fetch").length`
	tb.wait(resources + " > 1")
	eval[bool](tb, `window.fetchNow = window.fetch;
		window.fetch = async (...request) => {
			const response = await fetchNow(...request);
			await new Promise(resolve => { window.answer = resolve });
			return response;
		};
		true`)
	tb.wait("window.answer !== undefined")
	tb.do(chromedp.Click(chromedp.CSS("#pause")))
	if got := eval[string](tb, `document.querySelector("#informer-rows th").textContent = "old";
		window.fetch = fetchNow;
		window.answer();
		new Promise(resolve => setTimeout(() => resolve(document.querySelector("#informer-rows th").textContent), 4000))`); got != "old" {
		t.Errorf("an answer that arrived after the pause changed the page to %s", got)
	}
	if got := tb.text("#pause") + ", " + tb.text("#announce"); got != "Resume, Paused" {
		t.Errorf("got %s", got)
	}
	// A request may be in progress. Ten intervals later there is at most that one.
	n := eval[int](tb, resources)
	if got := eval[int](tb, fmt.Sprintf(`new Promise(resolve => setTimeout(() => resolve(%s), 20000))`, resources)); got > n+1 {
		t.Errorf("%d requests while paused", got-n)
	}
	tb.do(chromedp.Click(chromedp.CSS("#pause")))
	tb.wait(fmt.Sprintf("%s > %d", resources, n+1))
	if got := tb.text("#pause") + ", " + tb.text("#announce"); got != "Pause, " {
		t.Errorf("got %s", got)
	}
}

// testFilter filters the rows while the user types, also while the page is paused.
func testFilter(t *testing.T, tb *tab) {
	t.Helper()
	tb.do(chromedp.Click(chromedp.CSS("#pause")), chromedp.SendKeys(chromedp.CSS("#filter"), "CONFIG"))
	tb.wait(`document.querySelectorAll("#informer-rows tr").length === 1`)
	if got := tb.text("#informers") + ": " + tb.text("#informer-rows a"); got != "Informers, 1 of 7: configmaps" {
		t.Errorf("got %s", got)
	}
	if !eval[bool](tb, `document.activeElement.id === "filter" && document.activeElement.value === "CONFIG" && location.search === "?filter=CONFIG"`) {
		t.Error("the filter lost its text, the focus or its place in the address")
	}
	eval[bool](tb, `const filter = document.getElementById("filter"); filter.value = ""; filter.dispatchEvent(new Event("input")); true`)
	tb.wait(`document.querySelectorAll("#informer-rows tr").length === 7`)
}

// testWithoutJavaScript reads the overview, filters it, follows a link and searches for keys.
func testWithoutJavaScript(t *testing.T, tb *tab) {
	t.Helper()
	call(tb, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	tb.do(chromedp.Reload(), chromedp.WaitVisible(chromedp.CSS("noscript")), chromedp.WaitNotVisible(chromedp.CSS("#pause")))
	if rows := tb.text("#informer-rows"); !strings.Contains(rows, "podsWatching1,3") || !strings.HasPrefix(rows, "ingressesRetrying") {
		t.Errorf("got rows %s", rows)
	}
	tb.do(chromedp.SendKeys(chromedp.CSS("#filter"), "pods\n"), chromedp.WaitNotPresent(chromedp.CSS("#informer-rows .error")))
	tb.do(chromedp.Click(chromedp.CSS("#informer-rows a")), chromedp.WaitVisible(chromedp.CSS("#find")))
	tb.do(chromedp.SendKeys(chromedp.CSS("#find"), "shop/last\n"), chromedp.WaitVisible(chromedp.CSS(".keys a")))
	if got := tb.text("#keys p"); got != "1 found" {
		t.Errorf("got %s", got)
	}
	tb.do(chromedp.Click(chromedp.CSS(".keys a")), chromedp.WaitVisible(chromedp.CSS("pre")))
	if got := tb.text("pre"); !strings.Contains(got, `"name": "last"`) {
		t.Errorf("got %s", got)
	}
}

// testKeyboard reaches every link and control with the Tab key, in the order of the page.
func testKeyboard(t *testing.T, tb *tab) {
	t.Helper()
	tb.do(chromedp.Click(chromedp.CSS("#pause"))) // whose text would change the order otherwise
	eval[bool](tb, `document.activeElement.blur(); document.body.tabIndex = -1; document.body.focus(); document.body.removeAttribute("tabindex"); true`)
	want := eval[[]string](tb, `[...document.querySelectorAll("a, button, input, [tabindex]")].map(e => e.textContent)`)
	var got []string
	for range want {
		tb.do(chromedp.KeyEvent(kb.Tab))
		got = append(got, eval[string](tb, "document.activeElement.textContent"))
		if !eval[bool](tb, `document.activeElement.matches(":focus-visible") && getComputedStyle(document.activeElement).outlineStyle === "solid"`) {
			t.Errorf("the focus of %q cannot be seen", got[len(got)-1])
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got focus on %q, want %q", got, want)
	}
	eval[bool](tb, `document.querySelector("#informer-rows a").focus(); true`)
	tb.do(chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible(chromedp.CSS("#find")))
}

// testAccessibility reads what the browser tells a screen reader.
func testAccessibility(t *testing.T, tb *tab) {
	t.Helper()
	nodes := accessibilityTree(tb)
	for role, names := range map[string][]string{
		"RootWebArea":  {"Informers"},
		"heading":      {"Informers", "Needs attention"},
		"table":        {"Informers"},
		"region":       {"Informers"},
		"columnheader": {"Informer", "State", "Objects", "Events/s, last 5 minutes", "Handlers", "Relists"},
		"rowheader":    {"pods", "ingresses"},
		"cell":         {"Watching", "Watching, 1 warning", "Retrying, not synced"}, // without their shapes
		"searchbox":    {"Informers that contain"},
		"button":       {"Pause", "Filter"},
	} {
		for _, name := range names {
			if !slices.Contains(nodes[role], name) {
				t.Errorf("no %s is named %q: %q", role, name, nodes[role])
			}
		}
	}
	tb.do(chromedp.Click(chromedp.CSS("#informer-rows a")), chromedp.WaitVisible(chromedp.CSS("#find")))
	nodes = accessibilityTree(tb)
	for role, name := range map[string]string{"searchbox": "Keys that contain", "table": "Indexes", "columnheader": "Oldest pending", "rowheader": "routes"} {
		if !slices.Contains(nodes[role], name) {
			t.Errorf("no %s is named %q: %q", role, name, nodes[role])
		}
	}
	if plots := nodes["image"]; len(plots) != 1 || !strings.HasPrefix(plots[0], "events in the last 4 min 55 s: ") {
		t.Errorf("got plots %q", plots)
	}
}

// accessibilityTree returns the names of all nodes by role. Controls must have one.
func accessibilityTree(tb *tab) map[string][]string {
	tb.t.Helper()
	call(tb, accessibility.Enable, cdp.Empty{})
	names := make(map[string][]string)
	for _, node := range call(tb, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{}).Nodes {
		if node.Ignored || node.Role == nil {
			continue
		}
		role, name := unquote(node.Role), unquote(node.Name)
		names[role] = append(names[role], name)
		if name == "" && slices.Contains([]string{"link", "button", "searchbox", "image", "region", "table"}, role) {
			tb.t.Errorf("a %s has no name", role)
		}
	}
	return names
}

// testSchemes computes the page's colours in both schemes, and looks for motion.
func testSchemes(t *testing.T, tb *tab) {
	t.Helper()
	for scheme, want := range map[string]string{"light": "rgb(255, 255, 255)", "dark": "rgb(20, 24, 29)"} {
		tb.prefer("prefers-color-scheme", scheme)
		if got := eval[string](tb, "getComputedStyle(document.body).backgroundColor"); got != want {
			t.Errorf("%s: got background %s, want %s", scheme, got, want)
		}
	}
	if n := eval[int](tb, `document.getAnimations().length + [...document.querySelectorAll("*")].filter(e => getComputedStyle(e).transitionDuration !== "0s").length`); n != 0 {
		t.Errorf("%d animations or transitions", n)
	}
}

// testWidths looks for pages that are wider than their windows.
func testWidths(t *testing.T, tb *tab) {
	t.Helper()
	pages := []string{"./", eval[string](tb, `document.querySelector("#informer-rows a").getAttribute("href")`)}
	base := eval[string](tb, "location.href")
	for _, width := range []int64{360, 768, 1280, 1600} {
		for _, page := range pages {
			tb.do(chromedp.EmulateViewport(width, 900), chromedp.Navigate(base+page))
			if got := eval[int64](tb, "document.scrollingElement.scrollWidth"); got > width {
				t.Errorf("%s is %d pixels wide in a window of %d", page, got, width)
			}
		}
	}
}

// testLostConnection says that the figures are old.
func testLostConnection(t *testing.T, tb *tab, server *httptest.Server) {
	t.Helper()
	server.CloseClientConnections()
	server.Close()
	tb.wait(`document.getElementById("announce").textContent !== ""`)
	if got := tb.text("#announce"); got != "No connection; the figures are old." {
		t.Errorf("got %s", got)
	}
}

// testScreenshots writes a screenshot of each page in several forms, if the flag asks for it.
func testScreenshots(t *testing.T, tb *tab) {
	t.Helper()
	if *screenshots == "" {
		t.Skip("no -screenshots")
	}
	base := eval[string](tb, "location.href")
	informer := base + eval[string](tb, `[...document.querySelectorAll("#informer-rows a")].find(link => link.textContent === "pods").getAttribute("href")`)
	for _, c := range []struct {
		name, scheme, url string
		width             int64
	}{
		{"debug", "light", base, 1280},
		{"debug-dark", "dark", base, 1280},
		{"debug-wide", "light", base, 1600},
		{"debug-narrow", "light", base, 360},
		{"informer", "light", informer + "&find=checkout", 1280},
		{"informer-narrow", "dark", informer, 360},
	} {
		tb.prefer("prefers-color-scheme", c.scheme)
		tb.do(chromedp.EmulateViewport(c.width, 900), chromedp.Navigate(c.url))
		png, err := chromedp.Run(tb.ctx, chromedp.FullScreenshot(100))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(fmt.Sprintf("%s/%s.png", *screenshots, c.name), png, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
