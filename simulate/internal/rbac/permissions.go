// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package rbac

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// User is the name of the account.
const User = "system:serviceaccount:default:program"

// Attributes are what RBAC knows of a request.
type Attributes struct {
	Verb      string // get, list, watch, create, update, patch, delete, deletecollection, or a method in lower case with a Path
	Namespace string // also of a Namespace itself
	Resource  schema.GroupResource
	Name      string // also that of a list's or a watch's field selector
	Subresource,
	Path string // of a request that names no resource
}

// Permissions are the rules of an account.
type Permissions struct {
	cluster    []rbacv1.PolicyRule
	namespaced map[string][]rbacv1.PolicyRule
}

// everyAccount is what every service account may do.
var everyAccount = []rbacv1.PolicyRule{
	{ // system:discovery and system:public-info-viewer
		Verbs: []string{"get"},
		NonResourceURLs: []string{
			"/livez", "/readyz", "/healthz", "/version", "/version/", "/openapi", "/openapi/*", "/api", "/api/*", "/apis", "/apis/*",
		},
	},
	{ // system:basic-user
		Verbs: []string{"create"}, APIGroups: []string{"authorization.k8s.io"}, Resources: []string{"selfsubjectaccessreviews", "selfsubjectrulesreviews"},
	},
	{Verbs: []string{"create"}, APIGroups: []string{"authentication.k8s.io"}, Resources: []string{"selfsubjectreviews"}},
	{ // system:service-account-issuer-discovery
		Verbs: []string{"get"},
		NonResourceURLs: []string{
			"/.well-known/openid-configuration", "/.well-known/openid-configuration/", "/openid/v1/jwks", "/openid/v1/jwks/",
		},
	},
}

// Check returns the 403 of a request that no rule permits, or nil.
func (p *Permissions) Check(a Attributes) *apierrors.StatusError {
	permits := func(rule rbacv1.PolicyRule) bool { return permits(&rule, a) }
	if slices.ContainsFunc(p.cluster, permits) || slices.ContainsFunc(p.namespaced[a.Namespace], permits) {
		return nil
	}
	return apierrors.NewForbidden(a.Resource, a.Name, errors.New(unlikeHTML.Replace(a.refusal())))
}

// unlikeHTML replaces what a browser could take for HTML, as kube-apiserver does.
var unlikeHTML = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// refusal says that the account may not do what a request does, in kube-apiserver's words.
func (a Attributes) refusal() string {
	switch what := fmt.Sprintf("User %q cannot %s resource %q in API group %q", User, a.Verb, a.combined(), a.Resource.Group); {
	case a.Resource.Resource == "":
		return fmt.Sprintf("User %q cannot %s path %q", User, a.Verb, a.Path)
	case a.Namespace != "":
		return fmt.Sprintf("%s in the namespace %q", what, a.Namespace)
	default:
		return what + " at the cluster scope"
	}
}

// combined returns the resource with its subresource as rules name them.
func (a Attributes) combined() string {
	if a.Subresource == "" {
		return a.Resource.Resource
	}
	return a.Resource.Resource + "/" + a.Subresource
}

// permits reports whether a rule permits a request.
func permits(rule *rbacv1.PolicyRule, a Attributes) bool {
	if !hasOrAll(rule.Verbs, a.Verb) {
		return false
	}
	if a.Resource.Resource == "" {
		return slices.ContainsFunc(rule.NonResourceURLs, func(url string) bool {
			prefix, isPrefix := strings.CutSuffix(url, "*")
			return url == a.Path || isPrefix && strings.HasPrefix(a.Path, prefix)
		})
	}
	return hasOrAll(rule.APIGroups, a.Resource.Group) &&
		(hasOrAll(rule.Resources, a.combined()) || a.Subresource != "" && slices.Contains(rule.Resources, "*/"+a.Subresource)) &&
		(len(rule.ResourceNames) == 0 || slices.Contains(rule.ResourceNames, a.Name))
}

// hasOrAll reports whether values have a value, or an asterisk.
func hasOrAll(values []string, value string) bool {
	return slices.Contains(values, "*") || slices.Contains(values, value)
}
