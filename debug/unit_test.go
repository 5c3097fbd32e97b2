// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package debug

import (
	"math"
	"net/http"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/fake"
)

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second:                  "0 s",
		0:                             "0 s",
		950:                           "950 ns",
		1500:                          "1.50 µs",
		250 * time.Microsecond:        "250 µs",
		12340 * time.Microsecond:      "12.3 ms",
		1500 * time.Millisecond:       "1.5 s",
		59 * time.Second:              "59 s",
		60 * time.Second:              "1 min",
		125 * time.Second:             "2 min 5 s",
		3*time.Hour + 2*time.Minute:   "3 h 2 min",
		49*time.Hour + 30*time.Minute: "2 d 1 h",
	} {
		if got := duration(d); got != want {
			t.Errorf("%v: got %q, want %q", d, got, want)
		}
	}
}

func TestNumbers(t *testing.T) {
	for got, want := range map[string]string{
		rate(0):                            "0",
		rate(0.0166):                       "0.02",
		rate(3.14):                         "3.1",
		rate(12345.6):                      "12,346",
		shorten("größer", 3):               "grö…",
		shorten("größer", 6):               "größer",
		printable("a\nb\x00c\u202e\xffd "): "a b\ufffdc\ufffd\ufffdd ",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestState(t *testing.T) {
	for want, i := range map[string]informer{
		"Listing, not synced":              {Phase: cache.PhaseListing},
		"Listing, 12,000 objects received": {Phase: cache.PhaseListing, ReceivedObjects: 12_000},
		"Listing":                          {Phase: cache.PhaseListing, Synced: true},
		"Idle":                             {Phase: cache.PhaseIdle},
		"Watching":                         {Phase: cache.PhaseWatching, Synced: true},
	} {
		if got := i.State(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	both := overview{Informers: []informer{{Troubles: []trouble{{Level: levelWarning}}}, {Troubles: []trouble{{Level: levelError}}}}}
	if first := both.Troubles()[0].Level; first != levelError {
		t.Errorf("the first trouble is a %s", first)
	}
	if got := (informer{Lists: 1, Watches: 17, WatchRestarts: 16}).Requested(); got != "1 list, 17 watches, of which 16 resumed an earlier one" {
		t.Errorf("got %q", got)
	}
}

// TestHashesAreSlots describes hash ranges: of slots, also of a number of slots that is no power of
// two, and of a program's own.
func TestHashesAreSlots(t *testing.T) {
	const eighth = 1 << 61
	third := uint64(math.MaxUint64) / 3
	for _, test := range []struct {
		slots uint64
		ends  [][2]uint64
		want  string
	}{
		{8, [][2]uint64{{0, eighth - 1}, {eighth, 2*eighth - 1}, {4 * eighth, 5*eighth - 1}}, "slots 0 to 1, 4 of 8 by uid"},
		{8, [][2]uint64{{7 * eighth, math.MaxUint64}}, "slots 7 of 8 by uid"},
		{3, [][2]uint64{{0, third}, {2*third + 1, math.MaxUint64}}, "slots 0, 2 of 3 by uid"},
		{1, [][2]uint64{{0, math.MaxUint64}}, "slots 0 of 1 by uid"},
		{0, [][2]uint64{{0, 4*eighth - 1}}, "hashes 0000000000000000 to 7fffffffffffffff by uid"},
		{0, [][2]uint64{{0, eighth - 1}, {eighth, eighth}, {eighth + 1, 2*eighth - 1}}, "hashes 0000000000000000 to 3fffffffffffffff by uid"},
		{0, [][2]uint64{{7, 7}, {9, 9}}, "hashes 0000000000000007, 0000000000000009 by uid"},
	} {
		var hashes []cache.HashRange
		for _, e := range test.ends {
			hashes = append(hashes, cache.HashRange{Field: cache.HashUID, First: e[0], Last: e[1]})
		}
		if got := describe(cache.Scope{Hash: cache.HashRange{Field: cache.HashUID}}, hashes, test.slots); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}

func TestPlot(t *testing.T) {
	recent := make([]uint32, 60)
	recent[0], recent[1], recent[58], recent[59] = 100, 1, 50, 9999 // the last interval is not over
	i := informer{RecentEvents: recent, EventsPerSecond: lastMinute(recent)}
	p := i.Plot()
	if want := "M0 24v-23.0h1.5v23.0zM2 24v-1.0h1.5v1.0zM116 24v-11.5h1.5v11.5z"; p.Path != want {
		t.Errorf("got %q, want %q", p.Path, want)
	}
	if want := "events in the last 4 min 55 s: 0.8 per second now, at most 20.0"; p.Label != want {
		t.Errorf("got %q, want %q", p.Label, want)
	}
	if none := (informer{}).Plot(); none.Path != "" || none.Label == "" {
		t.Errorf("got %+v without events", none)
	}
	if got := lastMinute(nil) + lastMinute([]uint32{5}); got != 0 {
		t.Errorf("got %v events per second of no time", got)
	}
}

// TestSearchesAreLimited holds the turns of two searches. A third one waits, and is refused.
func TestSearchesAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shown := cache.NewSharedInformer(fake.NewListerWatcher(&corev1.Pod{}), &corev1.Pod{}, cache.InformerOptions[*corev1.Pod]{})
		h := Handler(withObjects, shown).(*handler)
		id := shown.Views()[0].ID()
		search, object := page("informer", id, "")+"&find=x", page("object", id, "x")
		for range maxScans {
			h.scans <- struct{}{}
		}
		for _, target := range []string{search, object} {
			began := time.Now()
			if answer := serve(t, h, "GET "+target); answer.Code != http.StatusServiceUnavailable || answer.Header().Get("Retry-After") == "" || time.Since(began) != scanWait {
				t.Errorf("%s: got status %d, Retry-After %q after %v", target, answer.Code, answer.Header().Get("Retry-After"), time.Since(began))
			}
		}
		get(t, h, "/")
		<-h.scans
		for range 2 * maxScans { // each releases its turn
			get(t, h, search)
			fails(t, h, object, http.StatusNotFound)
		}
	})
}

// TestContrast computes the contrast of each text colour against both backgrounds in both schemes,
// by the formula of WCAG 2. Level AA requires 4.5 for text, and 3 for graphics.
func TestContrast(t *testing.T) {
	style, err := assets.ReadFile("assets/style.css")
	if err != nil {
		t.Fatal(err)
	}
	matches := regexp.MustCompile(`--([a-z]+): light-dark\(#([0-9a-f]{6}), #([0-9a-f]{6})\);`).FindAllStringSubmatch(string(style), -1)
	for scheme, name := range []string{"light", "dark"} {
		colours := map[string]float64{}
		for _, match := range matches {
			colours[match[1]] = luminance(t, match[2+scheme])
		}
		for _, background := range []string{"page", "raised"} {
			for text, least := range map[string]float64{"text": 4.5, "muted": 4.5, "link": 4.5, "ok": 4.5, "busy": 4.5, "warning": 4.5, "error": 4.5, "bars": 3} {
				if got := contrast(colours[text], colours[background]); got < least {
					t.Errorf("%s: %s on %s has contrast %.2f, want %v", name, text, background, got, least)
				}
			}
		}
	}
}

// luminance returns the relative luminance of a colour such as "ff0000".
func luminance(t *testing.T, hex string) float64 {
	t.Helper()
	var sum float64
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		value, err := strconv.ParseUint(hex[2*i:2*i+2], 16, 8)
		if err != nil {
			t.Fatal(err)
		}
		c := float64(value) / 255
		if c <= 0.04045 {
			sum += weight * c / 12.92
		} else {
			sum += weight * math.Pow((c+0.055)/1.055, 2.4)
		}
	}
	return sum
}

func contrast(a, b float64) float64 { return (max(a, b) + 0.05) / (min(a, b) + 0.05) }

// TestDocument checks that docs/observing.md names every field of the JSON.
func TestDocument(t *testing.T) {
	text, err := os.ReadFile("../docs/observing.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "## Debug page")
	for _, value := range []any{overview{}, informer{}, request{}, handlerStatus{}, detail{}, index{}, quarantinedKey{}, keyList{}, scopeStatus{}, failure{}} {
		for _, field := range reflect.VisibleFields(reflect.TypeOf(value)) {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if name != "" && name != "-" && !strings.Contains(section, "`"+name+"`") {
				t.Errorf("docs/observing.md does not name the field %s of %T", name, value)
			}
		}
	}
}

// TestRefuseObject checks each of the signs of a Secret alone.
func TestRefuseObject(t *testing.T) {
	type Secret struct{ unstructured.Unstructured }
	type embedding struct{ *Secret }
	type own struct{ metav1.PartialObjectMetadata }
	type ownPod struct{ *corev1.Pod }
	ofKind := func(kind string) unstructured.Unstructured {
		return unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": kind}}
	}
	named := metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}}
	plain, secret, metadata, unknown := ofKind("Pod"), ofKind("Secret"), ofKind("PartialObjectMetadata"), ofKind("")
	for name, c := range map[string]struct {
		kind    string
		obj     cache.Object
		refused bool
	}{
		"no sign":                      {"Pod", &plain, false},
		"only the object's kind known": {"", &plain, false},
		"only the informer's kind":     {"Pod", &unknown, false},
		"metadata of a known kind":     {"Pod", &metadata, false},
		"Go type of k8s.io/api":        {"Pod", &corev1.Pod{}, false},
		"fields of a Go type":          {"Pod", &cache.PartialObject[*corev1.Pod, struct{}]{}, false},
		"fields of Secrets":            {"Pod", &cache.PartialObject[*corev1.Secret, struct{}]{}, true},
		"fields of an own Go type":     {"own", &cache.PartialObject[*own, corev1.Pod]{}, true},
		"own Go type with a kind":      {"own", &own{named}, false},
		"own Go type":                  {"own", &own{}, true},
		"own Go type of any informer":  {"", &own{}, true},
		"own Go type that embeds":      {"ownPod", &ownPod{&corev1.Pod{}}, true},
		"informer's kind":              {"Secret", &plain, true},
		"informer's kind, lower case":  {"secret", &plain, true},
		"object's kind":                {"Pod", &secret, true},
		"Go type":                      {"Pod", &Secret{plain}, true},
		"embedded Go type":             {"Pod", &embedding{&Secret{plain}}, true},
		"unknown kind":                 {"", &unknown, true},
		"metadata of an unknown kind":  {"", &metadata, true},
	} {
		if got := refuseObject(c.kind, c.obj); (got != nil) != c.refused || got != nil && got.Code != http.StatusForbidden {
			t.Errorf("%s: got %v", name, got)
		}
	}
}
