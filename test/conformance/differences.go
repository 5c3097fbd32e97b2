// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

// Difference is a step with an accepted difference between the responses of the two servers.
type Difference struct {
	Script string // name of the script
	Step   string // prefix of the step
	Reason string // why the difference is accepted
}

// Differences returns the accepted differences between the fake server and kube-apiserver v1.36.3.
func Differences() []Difference {
	const protection = "the finalizer is set by an admission plugin and removed by a controller; the fake server has neither"
	const noFormatWarning = "the fake server ignores formats that it does not know, as kube-apiserver does, but does not warn of them"
	differences := []Difference{
		{
			"create", `quiet POST /api/v1/namespaces/{ns}-absent/configmaps`,
			"the Namespace need not exist, so that tests need not create it",
		},
		{
			"create", `show=.status POST /api/v1/namespaces/{ns}/persistentvolumeclaims`,
			protection,
		},
		{
			"defaults", `show=.spec,.status.phase POST /api/v1/namespaces/{ns}/persistentvolumeclaims`,
			protection,
		},
		{
			"defaults", `show=.spec,.status.phase POST /api/v1/persistentvolumes`,
			protection,
		},
		{
			"defaults", `show=.spec,.status POST /api/v1/nodes`,
			"the taint is set by an admission plugin and removed by a controller, too",
		},
		{
			"defaults", `show=.subsets POST /api/v1/namespaces/{ns}/endpoints`,
			"the fake server sends no warnings of deprecated kinds",
		},
		{
			"defaults", `DELETE /apis/batch/v1/namespaces/{ns}/jobs`,
			"the fake server does not warn of Pods that are preserved by default",
		},
		{
			"forms", `quiet accept=application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1 WATCH l`,
			"kube-apiserver opens the watch and fails to write events; the fake server returns the error at once",
		},
		{
			"validation", `POST /apis/apiextensions.k8s.io/v1/customresourcedefinitions`,
			noFormatWarning,
		},
		{
			"validation", `type=json PATCH /apis/apiextensions.k8s.io/v1/customresourcedefinitions`,
			noFormatWarning,
		},
	}
	for _, field := range []string{"apiVersion", "kind", "metadata"} {
		differences = append(differences, Difference{
			"validation", "MUTATE POST /spec/template/" + field,
			"a value of another type is an error of decoding, 400, in kube-apiserver, and one of validation, 422, in the fake server",
		})
	}
	if scheme.Scheme.Recognizes(schema.GroupVersionKind{Group: "certificates.k8s.io", Version: "v1", Kind: "ClusterTrustBundle"}) {
		const newerClient = "client-go v0.37 knows more resources than kube-apiserver v1.36 serves"
		for _, group := range []string{"certificates.k8s.io", "resource.k8s.io", "storage.k8s.io"} {
			differences = append(differences, Difference{"discovery", "GET /apis/" + group + "/v1", newerClient})
		}
	}
	return differences
}
