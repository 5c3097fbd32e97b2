// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package workloads

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/simulate"
)

var uid = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)

// described is an object and a text of what two correct runs have in common of it.
type described struct {
	fake.Object
	text string
}

// describeAll returns the objects of programs in the order of their texts.
func describeAll(s simulate.State) []described {
	names := map[string]string{} // by UIDs and generated names
	var all []described
	for _, obj := range simulate.All[fake.Object](s) {
		names[obj.GetName()] = stableName(obj)
		names[string(obj.GetUID())] = fmt.Sprintf("(UID of %s)", stableName(obj))
		if obj.GetNamespace() != "" && !strings.HasSuffix(fmt.Sprintf("%T", obj), ".Event") {
			all = append(all, described{Object: obj})
		}
	}
	for i := range all {
		all[i].text = describe(all[i].Object, names)
	}
	slices.SortFunc(all, func(a, b described) int { return strings.Compare(a.text, b.text) })
	return all
}

// stableName returns the name of an object without its random letters. Pods of a StatefulSet have
// none.
func stableName(obj fake.Object) string {
	if obj.GetGenerateName() == "" || obj.GetLabels()["apps.kubernetes.io/pod-index"] != "" {
		return obj.GetName()
	}
	return obj.GetGenerateName() + "*"
}

func describe(obj fake.Object, names map[string]string) string {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		panic(err) // of an object that was decoded
	}
	metadata := fields["metadata"].(map[string]any)
	for _, field := range []string{"uid", "resourceVersion", "generation", "managedFields", "creationTimestamp", "deletionTimestamp"} {
		delete(metadata, field)
	}
	fields["kind"] = fmt.Sprintf("%T", obj)
	if status, ok := fields["status"].(map[string]any); ok {
		status["observedGeneration"] = nil
		dropMessages(status["conditions"])
	}
	text, err := json.MarshalIndent(normalize(fields, names), "", " ")
	if err != nil {
		panic(err) // of an object that was decoded
	}
	return string(text)
}

// normalize returns a value with names for UIDs, without times, and with conditions in the order of
// their types.
func normalize(value any, names map[string]string) any {
	switch value := value.(type) {
	case string:
		if name, ok := names[value]; ok {
			return name
		}
		if _, err := time.Parse(time.RFC3339, value); err == nil {
			return "(time)"
		}
		if uid.MatchString(value) {
			return "(UID of an object that is gone)"
		}
	case map[string]any:
		for key, field := range value {
			if normalized := normalize(field, names); normalized == nil {
				delete(value, key)
			} else {
				value[key] = normalized
			}
		}
	case []any:
		for i := range value {
			value[i] = normalize(value[i], names)
		}
		slices.SortStableFunc(value, func(a, b any) int { return strings.Compare(typeOf(a), typeOf(b)) })
	}
	return value
}

// typeOf returns the type of a condition, or "".
func typeOf(item any) string {
	fields, _ := item.(map[string]any)
	name, _ := fields["type"].(string)
	return name
}

// dropMessages removes the messages of conditions. That of a Deployment may name a ReplicaSet of an
// earlier rollout.
func dropMessages(conditions any) {
	list, _ := conditions.([]any)
	for _, condition := range list {
		delete(condition.(map[string]any), "message")
	}
}
