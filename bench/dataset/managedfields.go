package dataset

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Who manages fields of a Pod: the first two of every one.
const (
	managerController = "kube-controller-manager"
	managerKubelet    = "kubelet"
	managerScheduler  = "kube-scheduler"
	managerNetwork    = "calico"
)

// anAddress stands for a Pod's own in the fields of its shape.
const anAddress = "10.0.0.0"

// controllerFields returns what the controller sets: neither what the server adds
// nor what admission does.
func (w *workload) controllerFields() string {
	sample := &corev1.Pod{Spec: *w.spec.DeepCopy()}
	sample.GenerateName, sample.Labels, sample.Annotations = w.meta.GenerateName, w.meta.Labels, w.meta.Annotations
	sample.OwnerReferences = w.meta.OwnerReferences
	sample.Spec.Priority, sample.Spec.PreemptionPolicy = nil, nil
	return fieldsV1(sample, "metadata", "spec")
}

// kubeletFields returns what the kubelet reports of a running Pod, which is all of
// the status but what was there before it.
func (w *workload) kubeletFields() string {
	sample := &corev1.Pod{Spec: *w.spec.DeepCopy()}
	sample.Annotations = map[string]string{}
	run(sample, w, newDraw(0, streamPod, 0))
	sample.Status.PodIPs = []corev1.PodIP{{IP: anAddress}}
	sample.Status.QOSClass = ""
	sample.Status.Conditions = slices.DeleteFunc(sample.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodScheduled
	})
	return fieldsV1(sample, "status")
}

// managers returns a Pod's managedFields. The Pods of one shape have the same but
// for the times, and the address that is a key in the kubelet's.
func (w *workload) managers(pod *corev1.Pod, d draw) []metav1.ManagedFieldsEntry {
	created := pod.CreationTimestamp
	entries := []metav1.ManagedFieldsEntry{entry(managerController, "", w.byController, created)}
	if w.scheduled {
		entries = append(entries, entry(managerScheduler, "status", schedulerFields, later(created, 1)))
	}
	if w.network {
		entries = append(entries, entry(managerNetwork, "status", networkFields, later(*pod.Status.StartTime, 1)))
	}
	kubelet := strings.Replace(w.byKubelet, anAddress, pod.Status.PodIP, 1)
	return append(entries, entry(managerKubelet, "status", kubelet, later(*pod.Status.StartTime, d.between(20, 40))))
}

// What the scheduler says of a Pod that it finds no node for at first, and a network
// plugin of one that it has connected.
const (
	schedulerFields = `{"f:status":{"f:conditions":{".":{},"k:{\"type\":\"PodScheduled\"}":{".":{},"f:lastProbeTime":{},` +
		`"f:lastTransitionTime":{},"f:message":{},"f:reason":{},"f:status":{},"f:type":{}}}}}`
	networkFields = `{"f:metadata":{"f:annotations":{"f:cni.projectcalico.org/containerID":{},` +
		`"f:cni.projectcalico.org/podIP":{},"f:cni.projectcalico.org/podIPs":{}}}}`
)

func entry(manager, subresource, fields string, at metav1.Time) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{
		Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", Time: &at,
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields), Subresource: subresource,
	}
}

// fieldsV1 returns the set of fields that an object has in the given parts, as the
// server notes it for a manager who wrote all of them.
func fieldsV1(object any, parts ...string) string {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		panic(fmt.Sprintf("a generated type has no content: %v", err))
	}
	set := map[string]any{}
	for _, part := range parts {
		of, _ := content[part].(map[string]any)
		if fields := structFields(of); len(fields) > 0 {
			set["f:"+part] = fields
		}
	}
	text, err := json.Marshal(set)
	if err != nil {
		panic(fmt.Sprintf("a set of fields is no JSON: %v", err))
	}
	return string(text)
}

// Lists of which each item is a field by itself, and the keys that tell items
// apart. Any other list is one field.
func listKeys(name string) []string {
	switch name {
	case "containers", "env", "volumes", "imagePullSecrets":
		return []string{"name"}
	case "ports":
		return []string{"containerPort", "protocol"}
	case "volumeMounts":
		return []string{"mountPath"}
	case "topologySpreadConstraints":
		return []string{"topologyKey", "whenUnsatisfiable"}
	case "ownerReferences":
		return []string{"uid"}
	case "conditions", "addresses":
		return []string{"type"}
	case "podIPs":
		return []string{"ip"}
	}
	return nil
}

// undivided tells which maps and structs are one field, whatever is in them.
func undivided(name string) bool {
	return slices.Contains([]string{
		"nodeSelector", "fieldRef", "secretKeyRef", "configMapKeyRef", "labelSelector",
		"requiredDuringSchedulingIgnoredDuringExecution",
	}, name)
}

// structFields returns the fields of a struct or map, without the dot that says
// that it is a field itself.
func structFields(content map[string]any) map[string]any {
	set := map[string]any{}
	for name, value := range content {
		if name != "creationTimestamp" { // null until the server sets it
			set["f:"+name] = fieldsOf(name, value)
		}
	}
	return set
}

// fieldsOf returns the fields of a value. Lists that every Pod has, empty or not,
// carry no dot.
func fieldsOf(name string, value any) map[string]any {
	set := map[string]any{}
	switch value := value.(type) {
	case map[string]any:
		if undivided(name) {
			return set
		}
		if set = structFields(value); len(set) > 0 {
			set["."] = struct{}{}
		}
	case []any:
		keys := listKeys(name)
		if keys == nil {
			return set
		}
		for _, item := range value {
			set[itemKey(item.(map[string]any), keys)] = itemFields(name, item.(map[string]any))
		}
		if name != "containers" && name != "conditions" {
			set["."] = struct{}{}
		}
	}
	return set
}

func itemFields(list string, item map[string]any) map[string]any {
	if list == "ownerReferences" || list == "imagePullSecrets" { // references are never divided
		return map[string]any{}
	}
	set := structFields(item)
	set["."] = struct{}{}
	return set
}

func itemKey(item map[string]any, names []string) string {
	key := map[string]any{}
	for _, name := range names {
		key[name] = item[name]
	}
	text, err := json.Marshal(key)
	if err != nil {
		panic(fmt.Sprintf("a key is no JSON: %v", err))
	}
	return "k:" + string(text)
}
