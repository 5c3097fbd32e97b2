// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// describe formats an object, a list or a Status in normalized form.
func (n *normalizer) describe(step step, object map[string]any) string {
	kind, _ := object["kind"].(string)
	switch {
	case kind == "Status":
		return n.describeStatus(step, object)
	case kind == "APIGroupDiscoveryList":
		return n.describeDiscovery(object)
	case kind == "APIResourceList":
		return n.normalize(describeResources(object))
	case kind == "" || strings.HasPrefix(kind, "API") && kind != "APIService":
		return kind + n.describeFields(step, object)
	case object["items"] != nil:
		return n.describeList(step, object)
	}
	return n.describeObject(step, object)
}

// describeStatus formats a Status. It replaces numbers in the message, which are versions and
// limits that differ between servers.
func (n *normalizer) describeStatus(step step, status map[string]any) string {
	text := fmt.Sprintf("Status %v", status["status"])
	if reason := status["reason"]; reason != nil {
		text += fmt.Sprintf(" %v", reason)
	}
	if code := status["code"]; code != nil {
		text += fmt.Sprintf(" %v", code)
	}
	if details, ok := status["details"].(map[string]any); ok {
		if step.quiet {
			delete(details, "causes")
		}
		if uid, ok := details["uid"].(string); ok {
			details["uid"] = n.uidName(uid)
		}
		if len(details) > 0 {
			text += " " + times.ReplaceAllString(n.normalize(marshal(details)), "<time>")
		}
	}
	if continues, _, _ := unstructured.NestedString(status, "metadata", "continue"); continues != "" {
		text += " with a continue token"
	}
	if message, ok := status["message"].(string); ok && !step.quiet {
		text += "\n" + numbers.ReplaceAllString(times.ReplaceAllString(n.normalizeIdentity(message), "<time>"), "N")
	}
	return text
}

// describeCauses formats the reason of a Status and the types and fields of its causes, sorted:
// kube-apiserver finds them in random order. It is empty for another object.
func (n *normalizer) describeCauses(object map[string]any) string {
	if object["kind"] != "Status" {
		return ""
	}
	causes, _, _ := unstructured.NestedSlice(object, "details", "causes")
	var lines []string
	for _, cause := range causes {
		c := cause.(map[string]any)
		lines = append(lines, fmt.Sprintf("%v %v", c["field"], c["reason"]))
	}
	slices.Sort(lines)
	return n.normalize(fmt.Sprintf(" %v %s", object["reason"], strings.Join(lines, ", ")))
}

// describeList formats a list and its items.
func (n *normalizer) describeList(step step, list map[string]any) string {
	metadata, _ := list["metadata"].(map[string]any)
	version, _ := metadata["resourceVersion"].(string)
	text := fmt.Sprintf("%v %v", list["apiVersion"], list["kind"])
	if v, err := strconv.ParseUint(version, 10, 64); err != nil {
		text += fmt.Sprintf(" at %q", version)
	} else if v >= n.newest {
		text += " at the newest version"
	} else if name := n.versionRelation("", version); strings.HasPrefix(name, "{") {
		text += " at " + name
	} else {
		text += " at an older version"
	}
	if metadata["continue"] != nil {
		text += " to be continued"
	}
	if remaining := metadata["remainingItemCount"]; remaining != nil {
		text += fmt.Sprintf(", %v remaining", remaining)
	}
	text += describeShards(metadata)
	lines := []string{text}
	items, _ := list["items"].([]any)
	for _, item := range items {
		lines = append(lines, "- "+n.describeObject(step, item.(map[string]any)))
	}
	return n.normalize(strings.Join(lines, "\n"))
}

// describeShards formats the shardInfo of a list. It is empty if the list has none.
func describeShards(metadata map[string]any) string {
	info := metadata["shardInfo"]
	if info == nil {
		return ""
	}
	return ", of " + marshal(info)
}

// notByBoth are groups that hold no objects, and one of which kube-apiserver serves a version that
// client-go does not know.
var notByBoth = []string{"authentication.k8s.io", "authorization.k8s.io", "storagemigration.k8s.io"}

// describeDiscovery formats aggregated discovery: the stable versions of the groups that both
// servers serve by default, and all of the groups that the script itself has defined, with their
// resources.
func (n *normalizer) describeDiscovery(list map[string]any) string {
	lines := []string{fmt.Sprintf("%v %v", list["apiVersion"], list["kind"])}
	items, _ := list["items"].([]any)
	for _, item := range items {
		group, _, _ := unstructured.NestedString(item.(map[string]any), "metadata", "name")
		own := strings.HasSuffix(group, n.namespace+".example.com")
		foreign := !own && strings.HasSuffix(group, ".example.com")
		if foreign || slices.Contains(notByBoth, group) {
			continue
		}
		versions, _ := item.(map[string]any)["versions"].([]any)
		for _, version := range versions {
			v := version.(map[string]any)
			line := fmt.Sprintf("- %s/%v %v", group, v["version"], v["freshness"])
			if own {
				line += " " + marshal(v["resources"])
			}
			if own || !strings.ContainsAny(fmt.Sprint(v["version"]), "ab") {
				lines = append(lines, line)
			}
		}
	}
	return n.normalize(strings.Join(lines, "\n"))
}

// describeResources formats the resources of a group version, with those subresources that the fake
// server supports. It omits ComponentStatuses, which kube-apiserver computes on request and which
// have other verbs there.
func describeResources(list map[string]any) string {
	text := fmt.Sprintf("APIResourceList %v", list["groupVersion"])
	var lines []string
	resources, _ := list["resources"].([]any)
	for _, resource := range resources {
		r := resource.(map[string]any)
		_, subresource, _ := strings.Cut(fmt.Sprint(r["name"]), "/")
		if r["kind"] != "ComponentStatus" && slices.Contains([]string{"", "status", "binding", "finalize"}, subresource) {
			delete(r, "storageVersionHash")
			lines = append(lines, "\n- "+marshal(r))
		}
	}
	slices.Sort(lines)
	return text + strings.Join(lines, "")
}

// describeObject formats the name and UID of an object, its metadata as far as the server sets it,
// and the fields that the step shows.
func (n *normalizer) describeObject(step step, object map[string]any) string {
	metadata, _ := object["metadata"].(map[string]any)
	name, _ := metadata["name"].(string)
	uid, _ := metadata["uid"].(string)
	version, _ := metadata["resourceVersion"].(string)
	text := ""
	if object["kind"] != nil {
		text = fmt.Sprintf("%v %v ", object["apiVersion"], object["kind"])
	}
	text += fmt.Sprintf("%q %s rv=%s", n.normalize(name), n.uidName(uid), n.versionRelation(uid, version))
	for _, field := range slices.Sorted(maps.Keys(metadata)) {
		switch field {
		case "name", "uid", "resourceVersion", "managedFields", "namespace", "generateName":
		case "creationTimestamp", "deletionTimestamp":
			text += " " + field
		default:
			text += fmt.Sprintf(" %s=%s", field, n.normalize(marshal(metadata[field])))
		}
	}
	return n.normalize(text) + n.describeFields(step, object)
}

// describeFields formats the fields that the step shows.
func (n *normalizer) describeFields(step step, object map[string]any) string {
	var text strings.Builder
	for _, field := range step.show {
		value, found, err := unstructured.NestedFieldNoCopy(object, strings.Split(strings.TrimPrefix(field, "."), ".")...)
		if entries, ok := value.([]any); ok && field == ".metadata.managedFields" {
			text.WriteString(n.describeManagers(entries))
		} else if found && err == nil {
			fmt.Fprintf(&text, " %s=%s", field, n.normalize(marshal(value)))
		}
	}
	return text.String()
}

// describeManagers formats managedFields, one entry a line. Their order depends on their times.
func (n *normalizer) describeManagers(entries []any) string {
	var lines []string
	for _, entry := range entries {
		e := entry.(map[string]any)
		_, err := time.Parse(time.RFC3339, fmt.Sprint(e["time"]))
		line := fmt.Sprintf("\n%v %v %v %v time=%v %v %v", e["operation"], e["manager"], e["apiVersion"], e["subresource"], err == nil, e["fieldsType"], marshal(e["fieldsV1"]))
		lines = append(lines, n.normalize(strings.ReplaceAll(line, " <nil>", "")))
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// marshal encodes a value as JSON, without times.
func marshal(value any) string {
	data, err := json.Marshal(withoutTimes(value))
	if err != nil {
		return err.Error()
	}
	return string(data)
}

func withoutTimes(value any) any {
	switch value := value.(type) {
	case map[string]any:
		kept := map[string]any{}
		for key, v := range value {
			if key != "lastTransitionTime" && key != "lastProbeTime" {
				kept[key] = withoutTimes(v)
			}
		}
		return kept
	case []any:
		kept := make([]any, len(value))
		for i, v := range value {
			kept[i] = withoutTimes(v)
		}
		return kept
	}
	return value
}
