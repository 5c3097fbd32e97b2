// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/kinformer/cache"
	"github.com/kinformer/kinformer/cmd/kinformer/internal/cluster"
)

// textOf describes the rows of a Table in one line.
func textOf(t *testing.T, body string) string {
	t.Helper()
	table, err := decodeTable([]byte(body))
	if err != nil {
		return "error: " + err.Error()
	}
	rows, err := rowsOf(table)
	if err != nil {
		return "error: " + err.Error()
	}
	text := table.ResourceVersion
	for _, column := range table.ColumnDefinitions {
		text += " " + column.Name
	}
	for i := range rows {
		text += fmt.Sprintf("; %s/%s %s %s", rows[i].Namespace, rows[i].Name, rows[i].ResourceVersion, strings.Join(rows[i].cells, "|"))
	}
	return text
}

func TestTablesAreDecoded(t *testing.T) {
	const meta = `"object":{"metadata":{"namespace":"a","name":"b","resourceVersion":"3"}}`
	for body, want := range map[string]string{
		`{"kind":"Table","metadata":{"resourceVersion":"7"},"columnDefinitions":[{"name":"Name"}],"rows":[{"cells":["b"],` + meta + `}]}`: "7 Name; a/b 3 b",
		`{"kind":"Table","rows":[{"cells":[12345678901234567,1.5,true,null,["x","y"]],` + meta + `}]}`:                                    "; a/b 3 12345678901234567|1.5|true||[x y]",
		`{"kind":"Table","rows":[{"cells":["b"],"object":7}]}`:                                                                            `error: row 1 of the server's Table ("b"): decode its object: json: cannot unmarshal number into Go value of type v1.PartialObjectMetadata`,
		`{"kind":"Table","rows":[{"cells":["a"],` + meta + `},{"cells":["b\u001b"]}]}`:                                                    `error: row 2 of the server's Table ("b\x1b"): no object, which is a fault of the server`,
		`{"kind":"Table","rows":[{"cells":[],"object":null}]}`:                                                                            `error: row 1 of the server's Table (""): no object, which is a fault of the server`,
		`{"kind":"WidgetList","metadata":{"resourceVersion":"7"},"items":null}`:                                                           "7 Name Age",
		`{"kind":"WidgetList","items":7}`:                                                                                                 "error: decode the items of a list: json: cannot unmarshal number into Go value of type []json.RawMessage",
		`{"kind":"WidgetList","metadata":{"resourceVersion":"7"},"items":[{"metadata":{"name":"b","resourceVersion":"3"}}]}`:              "7 Name Age; /b 3 b|",
		`{"kind":"Widget","metadata":{"name":"b","resourceVersion":"3"}}`:                                                                 "3 Name Age; /b 3 b|",
		`{"kind":"WidgetList","metadata":{"resourceVersion":"7"},"items":[]}`:                                                             "7 Name Age",
		`[]`: "error: decode Table: json: cannot unmarshal array into Go value of type v1.Table",
	} {
		if got := textOf(t, body); got != want {
			t.Errorf("%s: got %q, want %q", body, got, want)
		}
	}
}

func TestEventsOfAWatchAreDecoded(t *testing.T) {
	const events = `{"type":"ADDED","object":{"kind":"Table","columnDefinitions":[{"name":"Name"}],"rows":[{"cells":["b"],"object":{"metadata":{"name":"b"}}}]}}
{"type":"BOOKMARK","object":{"kind":"Table","metadata":{"resourceVersion":"7"},"rows":[]}}
{"type":"BOOKMARK","object":{"kind":"Table","rows":[{"cells":[],"object":{"metadata":{"resourceVersion":"8"}}}]}}
{"type":"MODIFIED","object":{"kind":"Table","rows":[]}}
{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired"}}
`
	known := &columns{}
	d := &decoder{body: io.NopCloser(nil), events: json.NewDecoder(strings.NewReader(events)), columns: known}
	var got []string
	for {
		eventType, object, err := d.Decode()
		if err == io.EOF {
			break
		}
		switch object := object.(type) {
		case *row:
			got = append(got, fmt.Sprintf("%s %s %s %v", eventType, object.Name, object.ResourceVersion, err))
		case *metav1.Status:
			got = append(got, fmt.Sprintf("%s %d %s %v", eventType, object.Code, object.Reason, err))
		default:
			got = append(got, fmt.Sprintf("%s %v", eventType, err))
		}
	}
	want := []string{
		"ADDED b  <nil>", "BOOKMARK  7 <nil>", "BOOKMARK  8 <nil>", "MODIFIED 0 rows in an event, want 1", "ERROR 410 Expired <nil>",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if defined := known.get(); len(defined) != 1 || defined[0].Name != "Name" {
		t.Errorf("columns %v, want those of the first event", defined)
	}
	if _, _, err := (&decoder{events: json.NewDecoder(strings.NewReader(`{"type":"ADDED","object":1}`))}).Decode(); err == nil {
		t.Errorf("no error for an object that is a number of type %s", watch.Added)
	}
}

func TestAgeIsThatOfTheMoment(t *testing.T) {
	created := time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)
	r := &row{cells: []string{"b", "5m", "unused"}}
	r.CreationTimestamp = metav1.NewTime(created)
	shown := []shownColumn{{"NAME", 0}, {"AGE", 1}, {"NEW", 3}}
	if got := cellsOf(r, shown, created.Add(3*time.Hour)); !cmp.Equal(got, []string{"b", "3h", ""}) {
		t.Errorf("got cells %q", got)
	}
	r.CreationTimestamp = metav1.Time{}
	if got := cellsOf(r, shown, created); !cmp.Equal(got, []string{"b", "5m", ""}) {
		t.Errorf("got cells %q without a creation time", got)
	}
}

func TestDeepCopySharesNothing(t *testing.T) {
	list := &rowList{ListMeta: metav1.ListMeta{ResourceVersion: "7"}, Items: []row{{cells: []string{"a"}}}}
	list.Items[0].Labels = map[string]string{"a": "b"}
	copied := list.DeepCopyObject().(*rowList)
	copied.Items[0].cells[0], copied.Items[0].Labels["a"] = "changed", "changed"
	if list.Items[0].cells[0] != "a" || list.Items[0].Labels["a"] != "b" || copied.ResourceVersion != "7" {
		t.Errorf("list %+v after a change of its copy", list)
	}
}

func TestObjectsAreCounted(t *testing.T) {
	w := &watcher{resource: &cluster.Resource{Kind: "Policy"}}
	w.resource.Resource = "policies"
	if got := w.count(1) + ", " + w.count(2); got != "1 policy, 2 policies" {
		t.Errorf("got %q", got)
	}
	if got := eventText(cache.Event[*row]{Type: cache.EventDelete, Old: &row{}}, nil); got != "" {
		t.Errorf("got text %q of no columns", got)
	}
}
