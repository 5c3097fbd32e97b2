// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

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

// The field managers of Pods. Every Pod has the first two.
const (
	managerController = "kube-controller-manager"
	managerKubelet    = "kubelet"
	managerScheduler  = "kube-scheduler"
	managerNetwork    = "calico"
)

// templateIP stands for the Pod's IP address in the managed fields of a workload.
const templateIP = "10.0.0.0"

// controllerFields returns the fields that the controller sets. Fields set by the API server and by
// admission are not among them.
func (w *workload) controllerFields() string {
	sample := &corev1.Pod{Spec: *w.spec.DeepCopy()}
	sample.GenerateName, sample.Labels, sample.Annotations = w.meta.GenerateName, w.meta.Labels, w.meta.Annotations
	sample.OwnerReferences = w.meta.OwnerReferences
	sample.Spec.Priority, sample.Spec.PreemptionPolicy = nil, nil
	return fieldsV1(sample, "metadata", "spec")
}

// kubeletFields returns the status fields that the kubelet sets in a running Pod.
func (w *workload) kubeletFields() string {
	sample := &corev1.Pod{Spec: *w.spec.DeepCopy()}
	sample.Annotations = map[string]string{}
	startOnNode(sample, w, newRandom(0, streamPod, 0))
	sample.Status.PodIPs = []corev1.PodIP{{IP: templateIP}}
	sample.Status.QOSClass = ""
	sample.Status.Conditions = slices.DeleteFunc(sample.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodScheduled
	})
	return fieldsV1(sample, "status")
}

// managers returns a Pod's managedFields. Those of one workload's Pods differ in times and in the
// IP address, which is a key of a list.
func (w *workload) managers(pod *corev1.Pod, r random) []metav1.ManagedFieldsEntry {
	created := pod.CreationTimestamp
	entries := []metav1.ManagedFieldsEntry{managerEntry(managerController, "", w.byController, created)}
	if w.scheduled {
		entries = append(entries, managerEntry(managerScheduler, "status", schedulerFields, later(created, 1)))
	}
	if w.network {
		entries = append(entries, managerEntry(managerNetwork, "status", networkFields, later(*pod.Status.StartTime, 1)))
	}
	kubelet := strings.Replace(w.byKubelet, templateIP, pod.Status.PodIP, 1)
	return append(entries, managerEntry(managerKubelet, "status", kubelet, later(*pod.Status.StartTime, r.between(20, 40))))
}

// The fields that the scheduler sets if it finds no node at first, and those that the network
// plugin sets.
const (
	schedulerFields = `{"f:status":{"f:conditions":{".":{},"k:{\"type\":\"PodScheduled\"}":{".":{},"f:lastProbeTime":{},` +
		`"f:lastTransitionTime":{},"f:message":{},"f:reason":{},"f:status":{},"f:type":{}}}}}`
	networkFields = `{"f:metadata":{"f:annotations":{"f:cni.projectcalico.org/containerID":{},` +
		`"f:cni.projectcalico.org/podIP":{},"f:cni.projectcalico.org/podIPs":{}}}}`
)

func managerEntry(manager, subresource, fields string, at metav1.Time) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{
		Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", Time: &at,
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields), Subresource: subresource,
	}
}

// fieldsV1 returns the FieldsV1 of a manager that has set all fields in the given parts of an
// object.
func fieldsV1(object any, parts ...string) string {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		panic(fmt.Sprintf("convert to unstructured: %v", err))
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
		panic(fmt.Sprintf("marshal field set: %v", err))
	}
	return string(text)
}

// listMapKeys returns the keys of a list whose items are managed one by one, or nil if the list is
// managed as a whole.
func listMapKeys(name string) []string {
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

// isAtomic reports whether a map or struct is managed as a whole.
func isAtomic(name string) bool {
	return slices.Contains([]string{
		"nodeSelector", "fieldRef", "secretKeyRef", "configMapKeyRef", "labelSelector",
		"requiredDuringSchedulingIgnoredDuringExecution",
	}, name)
}

// structFields returns the fields of a struct or map, without the "." for the struct itself.
func structFields(content map[string]any) map[string]any {
	set := map[string]any{}
	for name, value := range content {
		if name != "creationTimestamp" { // null until the server sets it
			set["f:"+name] = fieldsOf(name, value)
		}
	}
	return set
}

// fieldsOf returns the fields of a value. Lists that every Pod has, even if empty, have no ".".
func fieldsOf(name string, value any) map[string]any {
	set := map[string]any{}
	switch value := value.(type) {
	case map[string]any:
		if isAtomic(name) {
			return set
		}
		if set = structFields(value); len(set) > 0 {
			set["."] = struct{}{}
		}
	case []any:
		keys := listMapKeys(name)
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
	if list == "ownerReferences" || list == "imagePullSecrets" { // references are atomic
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
		panic(fmt.Sprintf("marshal key of list item: %v", err))
	}
	return "k:" + string(text)
}
