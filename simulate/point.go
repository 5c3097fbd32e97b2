// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinformer/kinformer/simulate/internal/canonical"
)

// target is what a request to the API server is about.
type target struct {
	verb                         string // as in authorization: get, list, watch, create, update, patch, delete, deletecollection
	resource                     schema.GroupVersionResource
	namespace, name, subresource string
}

// targetOf returns the target of a request. The resource is empty for discovery and other requests
// that name no resource.
func targetOf(r *http.Request) target {
	segments := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	var t target
	switch {
	case len(segments) > 2 && segments[0] == "api":
		t.resource, segments = schema.GroupVersionResource{Version: segments[1]}, segments[2:]
	case len(segments) > 3 && segments[0] == "apis":
		t.resource, segments = schema.GroupVersionResource{Group: segments[1], Version: segments[2]}, segments[3:]
	default:
		return target{verb: "get"}
	}
	if len(segments) > 2 && segments[0] == "namespaces" && segments[2] != "finalize" && segments[2] != "status" {
		t.namespace, segments = segments[1], segments[2:]
	}
	segments = append(segments, "", "")
	t.resource.Resource, t.name, t.subresource = segments[0], segments[1], segments[2]
	t.verb = verbOf(r, t.name)
	return t
}

func verbOf(r *http.Request, name string) string {
	switch r.Method {
	case http.MethodPost:
		return "create"
	case http.MethodPut:
		return "update"
	case http.MethodPatch:
		return "patch"
	case http.MethodDelete:
		if name == "" {
			return "deletecollection"
		}
		return "delete"
	}
	switch {
	case name != "":
		return "get"
	case r.URL.Query().Get("watch") == "true" || r.URL.Query().Get("watch") == "1":
		return "watch"
	}
	return "list"
}

func (t target) isWrite() bool {
	switch t.verb {
	case "get", "list", "watch":
		return false
	}
	return true
}

// isTraffic reports whether the resource is one whose writes say nothing about a program's work:
// Leases, which are renewed on a timer, and Events.
func (t target) isTraffic() bool {
	return isTrafficGroup(t.resource.Group) && (t.resource.Resource == "leases" || t.resource.Resource == "events")
}

// isTrafficGroup reports whether a group has Leases or Events.
func isTrafficGroup(group string) bool {
	return group == "coordination.k8s.io" || group == "" || group == "events.k8s.io"
}

// String returns the target as points name it, such as "update of pods/status default/web".
func (t target) String() string {
	what := t.resource.Resource
	if t.subresource != "" {
		what += "/" + t.subresource
	}
	return strings.TrimSpace(t.verb + " of " + what + " " + t.key())
}

func (t target) key() string {
	return strings.Trim(t.namespace+"/"+t.name, "/")
}

// points names the writes of a run by what they do: "2nd update of pods default/web". A generated
// name is replaced by its prefix and a number, in the order of creation.
type points struct {
	counts  map[string]int
	aliases map[string]string // of generated names
	created map[string]int    // generated names, by their prefixes
}

func newPoints() *points {
	return &points{counts: map[string]int{}, aliases: map[string]string{}, created: map[string]int{}}
}

// next returns the name of the next write of a target. The object of a create is in the body.
func (p *points) next(t target, created objectName) string {
	return p.count(p.named(t, created).String())
}

// named returns a target with a name that is the same in each run.
func (p *points) named(t target, created objectName) target {
	t = p.anonymous(t)
	if t.verb == "create" && t.name == "" {
		t.name = created.Name
		if t.name == "" {
			t.name = created.GenerateName + "*"
		}
	}
	return t
}

// outside returns the name of the next write of the cluster or of Steps.
func (p *points) outside(t target, who string) string {
	return p.count(p.anonymous(t).String() + " by " + who)
}

// external returns the name of the next write to an external service. Its path may have UIDs and
// generated names in it, which differ from run to run.
func (p *points) external(t target) string {
	t.name = canonical.ReplaceUIDs(t.name, func(string) string { return "*" })
	nameIn := func(key string) string { return key[strings.LastIndexAny(key, " /")+1:] }
	for _, key := range slices.SortedFunc(maps.Keys(p.aliases), func(a, b string) int { // a name before those that it contains
		return cmp.Or(cmp.Compare(len(nameIn(b)), len(nameIn(a))), cmp.Compare(a, b))
	}) {
		t.name = strings.ReplaceAll(t.name, nameIn(key), p.aliases[key])
	}
	return p.count(t.String())
}

// call returns the name of the next call of a webhook for a write.
func (p *points) call(webhook string, t target, created objectName) string {
	return p.count("call of " + webhook + " for " + p.named(t, created).String())
}

// isCall reports whether a point is a call of a webhook.
func isCall(point string) bool { return strings.Contains(point, " call of ") }

// isOutside reports whether a point is a write of the cluster or of Steps.
func isOutside(point string) bool { return strings.Contains(point, " by ") }

func (p *points) count(name string) string {
	p.counts[name]++
	return ordinal(p.counts[name]) + " " + name
}

// anonymous returns the target with its alias in place of a generated name.
func (p *points) anonymous(t target) target {
	if alias, ok := p.aliases[t.resource.Resource+" "+t.key()]; ok {
		t.name = alias
	}
	return t
}

// generated notes the name that the server has generated.
func (p *points) generated(t target, prefix, name string) {
	p.created[prefix]++
	t.name = name
	p.aliases[t.resource.Resource+" "+t.key()] = fmt.Sprintf("%s*%d", prefix, p.created[prefix])
}

// objectName is the part of an object's metadata that names it.
type objectName struct{ Name, GenerateName string }

// ordinal returns 1st, 2nd, 3rd, 4th and so on.
func ordinal(n int) string {
	suffix := "th"
	if n%100 < 11 || n%100 > 13 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return fmt.Sprintf("%d%s", n, suffix)
}

// digest returns a short hash of a request's body.
func digest(body []byte) string {
	if len(body) == 0 {
		return ""
	}
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:4])
}
