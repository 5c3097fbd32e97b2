// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package rbac

import (
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// CheckGrant returns an error if rules permit in a namespace, or everywhere if it is empty, what
// the account may not do itself.
func (p *Permissions) CheckGrant(namespace string, rules []rbacv1.PolicyRule) error {
	var missing []grant
	for _, rule := range rules {
		for _, g := range grantsOf(rule) {
			if p.Check(g.attributes(namespace)) == nil {
				continue
			}
			i := slices.IndexFunc(missing, func(other grant) bool { return g.url == "" && g.of == other.of })
			if i < 0 {
				missing = append(missing, g)
			} else {
				missing[i].verbs = append(missing[i].verbs, g.verbs...)
			}
		}
	}
	if len(missing) == 0 {
		return nil
	}
	var lines []string
	for _, g := range missing {
		lines = append(lines, g.String())
	}
	slices.Sort(lines)
	return fmt.Errorf("user %q (groups=%q) is attempting to grant RBAC permissions not currently held:\n%s", User,
		[]string{"system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"}, strings.Join(slices.Compact(lines), "\n"))
}

// CheckFullAuthority returns an error unless the account may do everything.
func (p *Permissions) CheckFullAuthority() error {
	all := []string{"*"}
	return p.CheckGrant("", []rbacv1.PolicyRule{{Verbs: all, APIGroups: all, Resources: all}, {Verbs: all, NonResourceURLs: all}})
}

// grant is what a rule permits of one resource, name or path.
type grant struct {
	of
	url   string
	verbs []string
}

// of is the resource that a grant is for, and the name, if it is restricted to one.
type of struct{ group, resource, name string }

// grantsOf returns a rule in parts of one verb each.
func grantsOf(rule rbacv1.PolicyRule) (parts []grant) {
	names := rule.ResourceNames
	if len(names) == 0 {
		names = []string{""}
	}
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				for _, name := range names {
					parts = append(parts, grant{of: of{group, resource, name}, verbs: []string{verb}})
				}
			}
		}
	}
	for _, url := range rule.NonResourceURLs {
		for _, verb := range rule.Verbs {
			parts = append(parts, grant{url: url, verbs: []string{verb}})
		}
	}
	return parts
}

// attributes returns a request that rules permit exactly if they permit all that the grant does:
// only an asterisk permits one.
func (g grant) attributes(namespace string) Attributes {
	if g.url != "" {
		return Attributes{Verb: g.verbs[0], Path: g.url}
	}
	resource, subresource, _ := strings.Cut(g.resource, "/")
	return Attributes{
		Verb: g.verbs[0], Namespace: namespace, Resource: schema.GroupResource{Group: g.group, Resource: resource}, Name: g.name, Subresource: subresource,
	}
}

// String returns the grant as kube-apiserver prints it.
func (g grant) String() string {
	if g.url != "" {
		return fmt.Sprintf("{NonResourceURLs:%q, Verbs:%q}", []string{g.url}, g.verbs)
	}
	names := ""
	if g.name != "" {
		names = fmt.Sprintf("ResourceNames:%q, ", []string{g.name})
	}
	return fmt.Sprintf("{APIGroups:%q, Resources:%q, %sVerbs:%q}", []string{g.group}, []string{g.resource}, names, g.verbs)
}
