// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package resource

import "k8s.io/apimachinery/pkg/runtime/schema"

// shortNamesOf returns the short names of a built-in resource.
func shortNamesOf(resource schema.GroupResource) []string {
	short := map[string]string{
		"configmaps": "cm", "componentstatuses": "cs", "endpoints": "ep", "events": "ev", "limitranges": "limits", "namespaces": "ns",
		"nodes": "no", "persistentvolumeclaims": "pvc", "persistentvolumes": "pv", "pods": "po", "replicationcontrollers": "rc",
		"resourcequotas": "quota", "serviceaccounts": "sa", "services": "svc", "events.events.k8s.io": "ev",
		"daemonsets.apps": "ds", "deployments.apps": "deploy", "replicasets.apps": "rs", "statefulsets.apps": "sts",
		"horizontalpodautoscalers.autoscaling": "hpa", "cronjobs.batch": "cj",
		"certificatesigningrequests.certificates.k8s.io": "csr",
		"ingresses.networking.k8s.io":                    "ing", "ipaddresses.networking.k8s.io": "ip", "networkpolicies.networking.k8s.io": "netpol",
		"poddisruptionbudgets.policy": "pdb", "priorityclasses.scheduling.k8s.io": "pc",
		"storageclasses.storage.k8s.io": "sc", "volumeattributesclasses.storage.k8s.io": "vac",
		"customresourcedefinitions.apiextensions.k8s.io": "crd",
	}[resource.String()]
	if short == "" {
		return nil
	}
	if resource.Resource == "customresourcedefinitions" {
		return []string{"crd", "crds"}
	}
	return []string{short}
}

// categoriesOf returns the categories of a built-in resource, such as "all" for kubectl get all.
func categoriesOf(resource schema.GroupResource) []string {
	switch resource.String() {
	case "pods", "replicationcontrollers", "services", "daemonsets.apps", "deployments.apps", "replicasets.apps", "statefulsets.apps",
		"horizontalpodautoscalers.autoscaling", "cronjobs.batch", "jobs.batch":
		return []string{"all"}
	}
	if resource.Group == "admissionregistration.k8s.io" || isUnstructuredBuiltIn(resource.Group) {
		return []string{"api-extensions"}
	}
	return nil
}
