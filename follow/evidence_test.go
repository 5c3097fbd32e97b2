// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinformer/kinformer/internal/served"
)

// testDocument returns a document of the versions of group example.com, such as "v1 v2": each has
// the resource widgets, a version with "-" none, and one with "!" is stale. Other text counts as
// another group.
func testDocument(versions string) *document {
	var all []groupVersion
	for word := range strings.FieldsSeq(versions) {
		version := groupVersion{GroupVersion: schema.GroupVersion{Group: "example.com", Version: strings.Trim(word, "-!")}, stale: strings.HasSuffix(word, "!")}
		if !strings.HasPrefix(word, "v") {
			version.Group = "other"
		}
		if !strings.ContainsAny(word, "-!") {
			version.resources = []Resource{{GroupVersionResource: version.WithResource("widgets")}}
		}
		all = append(all, version)
	}
	return newDocument(all)
}

// evidenceHarness takes steps, and records how the verdict on widgets of version v1 changes.
type evidenceHarness struct {
	evidence

	now      time.Time
	verdict  served.Verdict
	outcomes []string
}

func (h *evidenceHarness) do(t *testing.T, step string) {
	t.Helper()
	what, rest, _ := strings.Cut(step, " ")
	known, name := h.definitions, "widgets.example.com"
	if strings.Contains(what, "service") {
		known, name = h.apiServices, "v1.example.com"
	}
	switch what {
	case "crd", "service": // created
		h.seen(known, name, 1, rest == "initially", h.now)
	case "changed":
		h.seen(known, name, h.definitions[name].generation+1, false, h.now)
	case "seen": // changed in another way, or listed again
		h.seen(known, name, h.definitions[name].generation, false, h.now)
	case "-crd", "-service":
		h.deleted(known, name, h.now)
	case "other": // definition
		h.seen(h.definitions, "others.example.com", 1, false, h.now)
	case "complete":
		h.complete = h.asked + 1
	case "ask":
		h.asked++
	case "answer": // to the last request
		h.add(testDocument(rest), h.now)
	case "get":
		h.asked++
		h.add(testDocument(rest), h.now)
	case "after":
		d, err := time.ParseDuration(rest)
		if err != nil {
			t.Fatal(err)
		}
		h.now = h.now.Add(d)
	default:
		t.Fatalf("unknown step %q", step)
	}
	widgets := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}
	outcome, why := h.verdictOn(widgets, h.verdict, h.now)
	if isServed := outcome == served.Served; isServed == errors.Is(why, served.ErrNotServed) {
		t.Errorf("after %q: outcome %v with error %v", step, outcome, why)
	}
	if outcome != h.verdict.Outcome {
		h.outcomes = append(h.outcomes, []string{"Pending", "Unknown", "Served", "NotServed", "Gone", "Unselected", "Unlisted"}[outcome])
	}
	h.verdict = served.Verdict{Outcome: outcome, Err: why}
}

func TestEvidence(t *testing.T) {
	for _, row := range []struct{ name, steps, want string }{
		{"nothing is known", "complete", ""},
		{"the definition was deleted before definitions were listed", "get v1; complete; get other", "Served NotServed"},
		{"discovery lists it, before definitions were listed", "get v1", "Served"},
		{"discovery does not list it, before definitions were listed", "get v2-", ""},
		{"discovery does not list it", "get v1-; complete", "NotServed"},
		{"discovery does not list the group", "get other; complete", "NotServed"},
		{"discovery does not know it", "get v1!; complete", ""},
		{"discovery does not know another version", "get v2!; complete", "NotServed"},
		{"discovery does not list it, although its definition exists", "crd initially; get v2-; complete", "Unlisted"},
		{"a server that lags at the start", "crd initially; get other; complete; get v1; get other", "Unlisted Served"},
		{"the definition's next generation does not serve it either", "crd initially; get v2-; complete; changed; get v2-", "Unlisted NotServed"},
		{"it appears in discovery", "get other; complete; get v1", "NotServed Served"},

		{"the definition is there at the start, before the first document", "crd initially; get v1; complete", "Served"},
		{"the definition was created", "get other; complete; crd; get v1", "NotServed Served"},
		{"a server that answered before the creation, and one that lags", "get other; complete; crd; get other; get other; get v1; get other", "NotServed Served"},
		{"the definition was created during the request that lists it", "get other; complete; ask; crd; answer v1", "NotServed Served"},
		{"the definition was deleted", "crd initially; get v1; -crd", "Served Gone"},
		{"a deleted definition that discovery lists", "crd initially; get v1; -crd; get v1; get other; get v1", "Served Gone"},
		{"a definition that was not there", "get v1; -crd", "Served Gone"},
		{"discovery lacks the resource before the definition is deleted", "crd initially; get v1; get other; after 1s; -crd", "Served Gone"},
		{"discovery lacks the resource, and nothing else has changed", "crd initially; get v1; get other; after 1h; get other; seen", "Served"},

		{"the definition was created again", "crd initially; get v1; -crd; get other; crd; get v1", "Served Gone Unlisted Served"},
		{"discovery is that of before the deletion", "crd initially; get v1; -crd; crd; after 1s; get v1", "Served Gone Unlisted Served"},
		{"a request that was made before the definition was created again", "crd initially; get v1; -crd; ask; crd; answer v1", "Served Gone Unlisted"},
		{"the document before it was created again lists it", "crd initially; get v1; -crd; crd", "Served Gone Unlisted"},
		{"a server that lags behind the second creation", "crd initially; get v1; -crd; get other; crd; get v1; get other; get v1", "Served Gone Unlisted Served"},
		{"a server that lags behind the second deletion", "crd initially; get v1; -crd; get other; crd; get v1; -crd; get other; get v1", "Served Gone Unlisted Served Gone"},

		{"a server that lags, after two changes without an answer", "crd initially; get v1; -crd; crd; get other; get v1; get other; get v1", "Served Gone Unlisted Served"},
		{"an answer of before the second of two changes", "crd initially; get v1; -crd; ask; crd; answer other; get v1", "Served Gone Unlisted Served"},

		{"the version is not served any more", "crd initially; get v1 v2; changed; get v2", "Served NotServed"},
		{"the definition's change is seen last", "crd initially; get v1 v2; get v2; changed; get v2", "Served NotServed"},
		{"the version is served again", "crd initially; get v1 v2; changed; get v2; changed; get v1 v2", "Served NotServed Served"},
		{"a server that lags behind the change", "crd initially; get v1 v2; changed; get v2; get v1 v2; get v2", "Served NotServed"},
		{"discovery does not know the other version", "crd initially; get v1 v2; changed; get v2!", "Served"},
		{"discovery does not know the version", "crd initially; get v1 v2; changed; get v1! v2", "Served"},
		{"discovery does not list the group", "crd initially; get v1 v2; changed; get other", "Served"},
		{"the definition changed long ago", "crd initially; get v1 v2; changed; after 3m; get v2", "Served"},
		{"the definition changed in another way", "crd initially; get v1 v2; changed; get v1 v2", "Served"},
		{"a definition that does not serve the version is deleted", "crd initially; get v1 v2; changed; get v2; -crd", "Served NotServed Gone"},

		{"the APIService was deleted", "service initially; get v1; -service", "Served NotServed"},
		{"the APIService does not answer at the start", "service initially; get v1!; complete; get v1", "Unknown Served"},
		{"the APIService does not answer", "service initially; get v1; get v1!; after 1h; get v1", "Served"},
		{"the aggregated API does not list it any more", "service initially; get v1; get v1-", "Served"},
		{"the APIService was created again", "service initially; get v1; -service; get other; service; get v1!; get v1", "Served NotServed Served"},
		{"the document before the APIService was created again lists it", "service initially; get v1; -service; service", "Served NotServed"},
		{"the APIService of a definition was deleted", "crd initially; service initially; get v1; -service", "Served"},
		{"the APIService was deleted, then the definition", "crd initially; service initially; get v1; -service; -crd; get other", "Served Gone"},
		{"the definition was deleted, then the APIService", "crd initially; service initially; get v1; -crd; -service; get other", "Served Gone"},
		{"both are created again, the APIService last", "crd initially; service initially; get v1; -crd; -service; get other; crd; get v1; service", "Served Gone Unlisted Served"},
		{"both are created again, the APIService first", "crd initially; service initially; get v1; -crd; -service; get other; service; crd; get v1", "Served Gone Unlisted Served"},
		{"the APIService was created during the request that lists the definition's resource", "get other; complete; crd; ask; service; answer v1", "NotServed Served"},
		{"an aggregated API after a definition", "crd initially; service initially; get v1; -crd; -service; get other; service; get v1", "Served Gone Served"},

		{"another definition of the group, and a server that lags behind the deletion",
			"crd initially; service initially; get v1; -crd; -service; get other; other; service; get v1; get v2-", "Served Gone Served Gone"},

		{"a document that was replaced long ago", "crd initially; get v1; get other; after 3m; get v1", "Served"},
		{"a server that lags, before the definitions were listed", "get v1; get other; get v1; complete", "Served"},
		{"another definition was created meanwhile", "crd initially; get v1; -crd; get other; other; get other v1-; crd; get v1", "Served Gone Unlisted Served"},
	} {
		t.Run(row.name, func(t *testing.T) {
			h := &evidenceHarness{evidence: newEvidence(), now: time.Now(), verdict: served.Verdict{Err: served.ErrNotServed}}
			for step := range strings.SplitSeq(row.steps, "; ") {
				h.do(t, step)
			}
			if got := strings.Join(h.outcomes, " "); got != row.want {
				t.Errorf("%s:\n got %s\nwant %s", row.steps, got, row.want)
			}
			if n := len(h.replaced); n > 10 {
				t.Errorf("%d documents are remembered", n)
			}
		})
	}
}
