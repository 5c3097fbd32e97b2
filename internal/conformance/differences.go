package conformance

// Difference is a step that the embedded server does not answer as the real one does.
type Difference struct {
	Script string
	Step   string // how the step begins
	Reason string // why that is accepted
}

const newer = "client-go v0.37 knows more resources than kube-apiserver v1.36 serves"

// Differences returns the reviewed differences between the embedded server and kube-apiserver v1.36.3.
func Differences() []Difference {
	return []Difference{
		{
			"create", `quiet POST /api/v1/namespaces/{ns}-absent/configmaps`,
			"no Namespace needs to exist: a test that is about something else need not create one",
		},
		{
			"create", `show=.status POST /api/v1/namespaces/{ns}/persistentvolumeclaims`,
			"the finalizer comes from an admission plugin, and nothing is admitted; nobody would remove it either",
		},
		{
			"create", `show=.status POST /apis/batch/v1/namespaces/{ns}/jobs`,
			"the labels are defaults, and nothing is defaulted",
		},
		{"discovery", `GET /apis/certificates.k8s.io/v1`, newer},
		{"discovery", `GET /apis/resource.k8s.io/v1`, newer},
		{"discovery", `GET /apis/storage.k8s.io/v1`, newer},
		{
			"forms", `quiet accept=application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1 WATCH l`,
			"the real server opens a stream and fails to write to it: an error at once is of more use",
		},
		{
			"patch", `type=apply PATCH`,
			"server-side apply needs to know who owns which field, and managedFields are not tracked: 415",
		},
	}
}
