// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"bytes"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/simulate/internal/rbac"
)

// Roles are the ClusterRoles and Roles of a process's service account. The API server answers its
// requests with 403 if no rule permits them. Each role counts as bound, a Role in its namespace.
// What every service account may do, such as discovery and reviews of its own access, is permitted.
// A process that writes roles and bindings must have what these grant, or the verbs escalate and
// bind; a role that a binding refers to must be among the objects.
type Roles struct {
	// Files are YAML files, such as config/rbac/role.yaml, with ClusterRoles and Roles and nothing
	// else. An aggregated ClusterRole is an error, since its rules are elsewhere.
	Files []string
	// Namespaces maps the namespaces of Roles in Files, which may be empty or placeholders, to
	// others: {"system": "default"}.
	Namespaces map[string]string
}

// readPermissions reads Test.Roles.
func (t *Test) readPermissions() error {
	if n := len(t.Roles); n > 1 && n != max(t.Replicas, 1) {
		return fmt.Errorf("Test.Roles has %d elements, and Test.Replicas is %d: want one element, or one for each", n, t.Replicas)
	}
	for i, roles := range t.Roles {
		permissions, err := rbac.Read(roles.Files, roles.Namespaces)
		if err != nil {
			return fmt.Errorf("Test.Roles[%d]: %w", i, err)
		}
		t.permissions = append(t.permissions, permissions)
	}
	return nil
}

// denial returns the answer to a request that the roles of its process do not permit, or nil.
func (s *scheduler) denial(q *request) *apierrors.StatusError {
	if len(s.test.permissions) == 0 {
		return nil
	}
	permissions := s.test.permissions[min(q.process.number, len(s.test.permissions))-1]
	denied := permissions.Check(q.attributes())
	if denied == nil && q.mayCreate() {
		create := q.attributes()
		create.Verb = "create"
		if denied = permissions.Check(create); denied != nil && s.trial(q, nil).code != http.StatusCreated {
			denied = nil
		}
	}
	if denied == nil && q.mayGrant() {
		denied = s.escalation(q, permissions)
	}
	q.denied = denied != nil && apierrors.IsForbidden(denied)
	return denied
}

// attributes returns what RBAC knows of the request.
func (q *request) attributes() rbac.Attributes {
	t := q.target
	if t.resource.Empty() {
		return rbac.Attributes{Verb: strings.ToLower(q.http.Method), Path: q.http.URL.Path}
	}
	a := rbac.Attributes{Verb: t.verb, Namespace: t.namespace, Resource: t.resource.GroupResource(), Name: t.name, Subresource: t.subresource}
	if t.resource.Resource == "namespaces" && t.namespace == "" {
		a.Namespace = t.name
	}
	if t.verb == "list" || t.verb == "watch" {
		a.Name = selectedName(q.http.URL.Query())
	}
	return a
}

// selectedName returns the name that the field selector of a list or a watch requires. It is empty
// if any option is invalid.
func selectedName(query url.Values) string {
	var options metav1.ListOptions
	if err := metav1.Convert_url_Values_To_v1_ListOptions(&query, &options, nil); err != nil {
		return ""
	}
	selector, err := fields.ParseSelector(options.FieldSelector)
	if err != nil {
		return ""
	}
	name, _ := selector.RequiresExactMatch("metadata.name")
	return name
}

// mayCreate reports whether a request that is no create may create an object.
func (q *request) mayCreate() bool {
	if q.target.verb == "patch" {
		contentType, _, _ := mime.ParseMediaType(q.http.Header.Get("Content-Type"))
		return contentType == string(types.ApplyYAMLPatchType)
	}
	return q.target.verb == "update"
}

// trial returns the answer to a request as a dry run, in JSON. If edit is not nil, it returns the
// object to write in place of its argument.
func (s *scheduler) trial(q *request, edit func(runtime.Object) runtime.Object) *recorder {
	trial := q.http.Clone(q.http.Context())
	trial.Body = io.NopCloser(bytes.NewReader(q.body))
	query := trial.URL.Query()
	query.Set("dryRun", metav1.DryRunAll)
	trial.URL.RawQuery = query.Encode()
	trial.Header.Set("Accept", runtime.ContentTypeJSON)
	if edit != nil {
		s.server.InjectFault(1, func(r fake.APIRequest) bool { return r.HTTP == trial }, fake.Fault{EditWrite: edit})
	}
	response := newRecorder()
	s.server.ServeHTTP(response, trial)
	return response
}
