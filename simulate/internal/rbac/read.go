// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package rbac

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
)

// Read returns the permissions of the ClusterRoles and Roles in YAML files. The namespaces of Roles
// are replaced by those that namespaces maps them to.
func Read(files []string, namespaces map[string]string) (*Permissions, error) {
	p := &Permissions{cluster: slices.Clone(everyAccount), namespaced: map[string][]rbacv1.PolicyRule{}}
	unused := maps.Clone(namespaces)
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		documents, err := split(content)
		if err == nil && len(documents) == 0 {
			err = errors.New("no ClusterRole and no Role")
		}
		for _, document := range documents {
			if err == nil {
				err = p.add(document, namespaces, unused)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	for namespace := range unused {
		return nil, fmt.Errorf("namespace %q is mapped, and no Role has it", namespace)
	}
	return p, nil
}

// split returns the documents of a YAML file that are not empty.
func split(content []byte) (documents [][]byte, err error) {
	reader := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(content)))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return documents, nil
		}
		if err != nil {
			return nil, err
		}
		text, err := yaml.ToJSON(document)
		if err != nil {
			return nil, err
		}
		if string(text) != "null" {
			documents = append(documents, text)
		}
	}
}

var decoder = json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme.Scheme, scheme.Scheme, json.SerializerOptions{Strict: true})

// add adds the rules of a role in JSON. It removes the namespace of a Role from unused.
func (p *Permissions) add(document []byte, namespaces, unused map[string]string) error {
	obj, kind, err := decoder.Decode(document, nil, nil)
	if err != nil {
		return err
	}
	switch role := obj.(type) {
	case *rbacv1.ClusterRole:
		if role.AggregationRule != nil {
			return fmt.Errorf("ClusterRole %q: aggregationRule is not supported: write the rules of the ClusterRoles that it selects", role.Name)
		}
		if err := check(role.Rules, false); err != nil {
			return fmt.Errorf("ClusterRole %q: %w", role.Name, err)
		}
		p.cluster = append(p.cluster, role.Rules...)
	case *rbacv1.Role:
		if err := check(role.Rules, true); err != nil {
			return fmt.Errorf("%s %q: %w", kind.Kind, role.Name, err)
		}
		namespace, isMapped := namespaces[role.Namespace]
		if delete(unused, role.Namespace); !isMapped {
			namespace = role.Namespace
		}
		if namespace == "" {
			return fmt.Errorf("%s %q: metadata.namespace is empty, and is not mapped to another", kind.Kind, role.Name)
		}
		p.namespaced[namespace] = append(p.namespaced[namespace], role.Rules...)
	default:
		return fmt.Errorf("%s %s is neither a ClusterRole nor a Role of rbac.authorization.k8s.io/v1", kind.GroupVersion(), kind.Kind)
	}
	return nil
}

// check returns an error for rules that kube-apiserver does not store.
func check(rules []rbacv1.PolicyRule, isNamespaced bool) error {
	for i, rule := range rules {
		isOfResources := len(rule.APIGroups)+len(rule.Resources)+len(rule.ResourceNames) > 0
		switch {
		case len(rule.Verbs) == 0:
			return fmt.Errorf("rules[%d].verbs is empty", i)
		case len(rule.NonResourceURLs) > 0 && isNamespaced:
			return fmt.Errorf("rules[%d].nonResourceURLs: a Role permits requests in its namespace only", i)
		case len(rule.NonResourceURLs) > 0 && isOfResources:
			return fmt.Errorf("rules[%d] has resources and nonResourceURLs", i)
		case len(rule.NonResourceURLs) == 0 && len(rule.APIGroups) == 0:
			return fmt.Errorf("rules[%d].apiGroups is empty", i)
		case len(rule.NonResourceURLs) == 0 && len(rule.Resources) == 0:
			return fmt.Errorf("rules[%d].resources is empty", i)
		}
	}
	return nil
}
