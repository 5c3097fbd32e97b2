package conformance

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// names gives what differs from run to run the names that it has in a transcript.
type names struct {
	namespace string
	saved     map[string]string // resourceVersions, by name
	uids      map[string]string // names of UIDs
	versions  map[string]uint64 // the newest version seen of each object
	newest    uint64            // version seen of any
}

func newNames(namespace string) *names {
	return &names{namespace: namespace, saved: map[string]string{}, uids: map[string]string{}, versions: map[string]uint64{}}
}

// expand puts values in the place of {ns} and saved names.
func (n *names) expand(text string) string {
	text = strings.ReplaceAll(text, "{ns}", n.namespace)
	for name, value := range n.saved {
		text = strings.ReplaceAll(text, "{"+name+"}", value)
	}
	return text
}

var (
	numbers = regexp.MustCompile(`\b\d+\b`)
	ages    = regexp.MustCompile(`^(\d+[smhd])+$|^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$`)
)

// hide is the reverse of expand.
func (n *names) hide(text string) string {
	text = n.hideIdentity(text)
	for name, value := range n.saved {
		text = regexp.MustCompile(`\b`+regexp.QuoteMeta(value)+`\b`).ReplaceAllString(text, "{"+name+"}")
	}
	return text
}

func (n *names) hideIdentity(text string) string {
	for uid, name := range n.uids {
		text = strings.ReplaceAll(text, uid, name)
	}
	return strings.ReplaceAll(text, n.namespace, "{ns}")
}

// answer writes down an answer in the normal form.
func (n *names) answer(step step, code int, header http.Header, body []byte) string {
	contentType := header.Get("Content-Type")
	text := strconv.Itoa(code)
	if value := header.Get("Retry-After"); value != "" {
		text += " Retry-After=" + value
	}
	if value := header.Get("Warning"); value != "" {
		text += " Warning=" + value
	}
	if !strings.HasPrefix(contentType, "application/json") {
		if strings.HasPrefix(contentType, "text/plain") {
			return fmt.Sprintf("%s %s %q", text, contentType, n.hide(strings.TrimSpace(string(body))))
		}
		return fmt.Sprintf("%s %s", text, contentType)
	}
	var object map[string]any
	if err := json.Unmarshal(body, &object); err != nil {
		return fmt.Sprintf("%s %v", text, err)
	}
	described := n.describe(step, object)
	if step.save != "" {
		// Of a page only the token is named: whether its version is that of an object depends on what else the server had to write.
		if token, _, _ := unstructured.NestedString(object, "metadata", "continue"); token != "" {
			n.saved[step.save+".continue"] = token
		} else if version, _, _ := unstructured.NestedString(object, "metadata", "resourceVersion"); version != "" {
			n.saved[step.save] = version
		}
		if uid, _, _ := unstructured.NestedString(object, "metadata", "uid"); uid != "" {
			n.saved[step.save+".uid"] = uid
		}
	}
	return text + " " + described
}

// event writes down an event, and returns its object's name. Bookmarks come when they will: only that which ends initial events is written down.
func (n *names) event(step step, line []byte) (text, name string) {
	var event struct {
		Type   string         `json:"type"`
		Object map[string]any `json:"object"`
	}
	if err := json.Unmarshal(line, &event); err != nil {
		return "no event: " + err.Error(), ""
	}
	name, _, _ = unstructured.NestedString(event.Object, "metadata", "name")
	if event.Object["kind"] == "Table" {
		name = rowName(event.Object)
	}
	if event.Type == "BOOKMARK" {
		if !strings.Contains(string(line), "k8s.io/initial-events-end") {
			return "", ""
		}
		return "BOOKMARK the initial events end", ""
	}
	return event.Type + " " + n.describe(step, event.Object), name
}

// rowName is the name of the first row's object.
func rowName(table map[string]any) string {
	rows, _ := table["rows"].([]any)
	if len(rows) == 0 {
		return ""
	}
	row, _ := rows[0].(map[string]any)
	name, _, _ := unstructured.NestedString(row, "object", "metadata", "name")
	return name
}

// version tells how an object's version relates to those seen before.
func (n *names) version(uid, text string) string {
	for name, value := range n.saved {
		if value == text && !strings.Contains(name, ".") {
			return "{" + name + "}"
		}
	}
	version, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return strconv.Quote(text)
	}
	seen := n.versions[uid]
	n.versions[uid] = max(seen, version)
	n.newest = max(n.newest, version)
	switch {
	case version > seen:
		return "new"
	case version == seen:
		return "same"
	}
	return "old"
}

func (n *names) uid(uid string) string {
	if uid == "" {
		return "none"
	}
	if n.uids[uid] == "" {
		n.uids[uid] = fmt.Sprint("u", len(n.uids)+1)
	}
	return n.uids[uid]
}
