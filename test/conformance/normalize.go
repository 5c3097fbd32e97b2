// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

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

// normalizer replaces values that differ between runs with names, and names in requests with
// values.
type normalizer struct {
	namespace string
	saved     map[string]string         // values of save= steps, by name
	patterns  map[string]*regexp.Regexp // of saved values, by value
	uids      map[string]string         // names of UIDs
	versions  map[string]uint64         // newest resourceVersion seen, by UID
	newest    uint64                    // newest resourceVersion seen
}

func newNormalizer(namespace string) *normalizer {
	return &normalizer{
		namespace: namespace, saved: map[string]string{}, patterns: map[string]*regexp.Regexp{},
		uids: map[string]string{}, versions: map[string]uint64{},
	}
}

// save sets the value of a name.
func (n *normalizer) save(name, value string) {
	n.saved[name] = value
	n.patterns[value] = regexp.MustCompile(`\b` + regexp.QuoteMeta(value) + `\b`)
}

// expand replaces {ns} and saved names with their values.
func (n *normalizer) expand(text string) string {
	text = strings.ReplaceAll(text, "{ns}", n.namespace)
	for name, value := range n.saved {
		text = strings.ReplaceAll(text, "{"+name+"}", value)
	}
	return text
}

var (
	numbers = regexp.MustCompile(`\b\d+\b`)
	// clusterIPs and nodePorts match what the servers assign to Services, each from its own range.
	clusterIPs = regexp.MustCompile(`\b10(\.\d+){3}\b`)
	nodePorts  = regexp.MustCompile(`((?:nodePort|healthCheckNodePort)"?[:=])3\d{4}\b`)
	times      = regexp.MustCompile(`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\b`)
)

// normalize replaces values with names. It reverses expand.
func (n *normalizer) normalize(text string) string {
	text = n.normalizeIdentity(text)
	for name, value := range n.saved {
		text = n.patterns[value].ReplaceAllString(text, "{"+name+"}")
	}
	return text
}

// normalizeIdentity replaces UIDs, addresses of Services and the Namespace with names.
func (n *normalizer) normalizeIdentity(text string) string {
	for uid, name := range n.uids {
		text = strings.ReplaceAll(text, uid, name)
	}
	text = nodePorts.ReplaceAllString(clusterIPs.ReplaceAllString(text, "{ip}"), "${1}{port}")
	return strings.ReplaceAll(text, n.namespace, "{ns}")
}

// generateName matches the prefix of a name that the server generates.
var generateName = regexp.MustCompile(`"generateName":"([^"]+)"`)

// hideSuffix replaces the random suffix of a generated name in the response to a request.
func hideSuffix(request string, response []byte) []byte {
	match := generateName.FindStringSubmatch(request)
	if match == nil {
		return response
	}
	generated := regexp.MustCompile(regexp.QuoteMeta(match[1]) + `[bcdfghjklmnpqrstvwxz2456789]{5}\b`)
	return generated.ReplaceAllLiteral(response, []byte(match[1]+"{suffix}"))
}

// response formats a response in normalized form.
func (n *normalizer) response(step step, code int, header http.Header, body []byte) string {
	body = hideSuffix(step.body, body)
	contentType := header.Get("Content-Type")
	text := strconv.Itoa(code)
	if value := header.Get("Retry-After"); value != "" {
		text += " Retry-After=" + value
	}
	if value := header.Get("Warning"); value != "" {
		text += " Warning=" + value
	}
	if header.Get("ETag") != "" {
		text += fmt.Sprintf(" %s with an ETag, Vary=%s Cache-Control=%s", contentType, header.Get("Vary"), header.Get("Cache-Control"))
	}
	if !strings.HasPrefix(contentType, "application/json") {
		if strings.HasPrefix(contentType, "text/plain") {
			return fmt.Sprintf("%s %s %q", text, contentType, n.normalize(strings.TrimSpace(string(body))))
		}
		return fmt.Sprintf("%s %s", text, contentType)
	}
	var object map[string]any
	if err := json.Unmarshal(body, &object); err != nil {
		return fmt.Sprintf("%s %v", text, err)
	}
	if step.causes {
		return text + n.describeCauses(object)
	}
	described := n.describe(step, object)
	if step.save != "" {
		n.saveMetadata(step.save, object)
	}
	return text + " " + described
}

// saveMetadata saves the resourceVersion of an object under name and its UID under name.uid. Of a
// page it saves the continue token under name.continue and not the resourceVersion, which depends
// on other writes of the server.
func (n *normalizer) saveMetadata(name string, object map[string]any) {
	if token, _, _ := unstructured.NestedString(object, "metadata", "continue"); token != "" {
		n.save(name+".continue", token)
	} else if version, _, _ := unstructured.NestedString(object, "metadata", "resourceVersion"); version != "" {
		n.save(name, version)
	}
	if uid, _, _ := unstructured.NestedString(object, "metadata", "uid"); uid != "" {
		n.save(name+".uid", uid)
	}
}

// event formats a watch event in normalized form and returns it with the name of its object.
// Periodic bookmarks come at any time and yield no text; only the bookmark at the end of the
// initial events does.
func (n *normalizer) event(step step, line []byte) (text, name string) {
	var event struct {
		Type   string         `json:"type"`
		Object map[string]any `json:"object"`
	}
	if err := json.Unmarshal(line, &event); err != nil {
		return "decode event: " + err.Error(), ""
	}
	name, _, _ = unstructured.NestedString(event.Object, "metadata", "name")
	if event.Type == "BOOKMARK" {
		if !strings.Contains(string(line), "k8s.io/initial-events-end") {
			return "", ""
		}
		return "BOOKMARK the initial events end", ""
	}
	return event.Type + " " + n.describe(step, event.Object), name
}

// versionRelation describes the resourceVersion of the object with the given UID: its saved name,
// or whether it is new, the same as or older than the newest one seen of the object.
func (n *normalizer) versionRelation(uid, text string) string {
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

// uidName returns the name of a UID: u1, u2 and so on, in the order of first use.
func (n *normalizer) uidName(uid string) string {
	if uid == "" {
		return "none"
	}
	if n.uids[uid] == "" {
		n.uids[uid] = fmt.Sprint("u", len(n.uids)+1)
	}
	return n.uids[uid]
}
