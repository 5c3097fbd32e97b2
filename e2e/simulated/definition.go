// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulated

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/kinformer/kinformer/fake"
)

// definition is what is read of a CustomResourceDefinition.
type definition struct {
	Spec struct {
		Group, Scope string
		Names        struct{ Kind, Plural string }
		Versions     []struct {
			Name         string
			Storage      bool
			Schema       struct{ OpenAPIV3Schema map[string]any }
			Subresources map[string]any
		}
	}
}

// Definition returns the custom resource of a CustomResourceDefinition in a file of a module that
// the test's module requires, with the schema of its storage version.
func Definition(t *testing.T, module, path string) fake.CustomResource {
	t.Helper()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		t.Fatalf("find module %s: %v", module, err)
	}
	document, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), path))
	if err != nil {
		t.Fatal(err)
	}
	var d definition
	if err := yaml.Unmarshal(document, &d); err != nil {
		t.Fatalf("decode %s: %v", path, err)
	}
	resource := fake.CustomResource{Group: d.Spec.Group, Kind: d.Spec.Names.Kind, Plural: d.Spec.Names.Plural, ClusterScoped: d.Spec.Scope == "Cluster"}
	for _, version := range d.Spec.Versions {
		if !version.Storage {
			continue
		}
		schema, err := yaml.Marshal(withoutDescriptions(version.Schema.OpenAPIV3Schema))
		if err != nil {
			t.Fatalf("encode the schema of %s: %v", path, err)
		}
		resource.Versions, resource.Schema = []string{version.Name}, string(schema)
		_, resource.StatusSubresource = version.Subresources["status"]
	}
	return resource
}

// withoutDescriptions removes the descriptions from a schema, which are most of its length.
func withoutDescriptions(value any) any {
	switch v := value.(type) {
	case map[string]any:
		if _, ok := v["description"].(string); ok {
			delete(v, "description")
		}
		for _, field := range v {
			withoutDescriptions(field)
		}
	case []any:
		for _, element := range v {
			withoutDescriptions(element)
		}
	}
	return value
}
