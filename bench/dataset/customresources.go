// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package dataset

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// CustomResources is an unlimited set of custom resources: databases of an operator, 2 to 6 KB of
// JSON each. Its methods are safe for concurrent use.
type CustomResources struct{ seed uint64 }

// NewCustomResources returns the set of a seed.
func NewCustomResources(seed uint64) *CustomResources { return &CustomResources{seed} }

// CustomResourceKind is the kind of the set's objects.
func CustomResourceKind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "data.example.com", Version: "v1", Kind: "Database"}
}

// CustomResourceResource is the resource of the set's objects.
func CustomResourceResource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "data.example.com", Version: "v1", Resource: "databases"}
}

// CustomResource returns the i-th object, as a dynamic client decodes it. The caller may change it.
func (c *CustomResources) CustomResource(i int) *unstructured.Unstructured {
	r := newRandom(c.seed, streamCustom, i)
	created := r.moment(60)
	object := &unstructured.Unstructured{Object: map[string]any{"spec": databaseSpec(r), "status": databaseStatus(r, created)}}
	object.SetGroupVersionKind(CustomResourceKind())
	object.SetNamespace(fmt.Sprintf("%s-%03d", r.team(), i/50))
	object.SetName(fmt.Sprintf("%s-%s-%d", r.word(), r.suffix(5), i))
	object.SetUID(r.uid())
	object.SetResourceVersion(Version(i))
	object.SetGeneration(int64(r.between(1, 9)))
	object.SetCreationTimestamp(created)
	object.SetLabels(map[string]string{"app.kubernetes.io/managed-by": "Helm", "team": r.team()})
	object.SetFinalizers([]string{"data.example.com/backup"})
	spec := fieldsV1(&unstructured.Unstructured{Object: map[string]any{"spec": object.Object["spec"]}}, "spec")
	status := fieldsV1(&unstructured.Unstructured{Object: map[string]any{"status": object.Object["status"]}}, "status")
	managers := []metav1.ManagedFieldsEntry{managerEntry("helm", "", spec, created), managerEntry("database-operator", "status", status, later(created, 60))}
	for i := range managers {
		managers[i].APIVersion = CustomResourceKind().GroupVersion().String()
	}
	object.SetManagedFields(managers)
	return object
}

// Take returns the first n objects.
func (c *CustomResources) Take(n int) []*unstructured.Unstructured {
	objects := make([]*unstructured.Unstructured, n)
	for i := range objects {
		objects[i] = c.CustomResource(i)
	}
	return objects
}

func databaseSpec(r random) map[string]any {
	users := []any{}
	for range r.between(1, 8) {
		users = append(users, map[string]any{
			"name": r.word() + "_" + r.suffix(3), "grants": []any{"SELECT", "INSERT", "UPDATE"}, "secretName": "db-" + r.suffix(8),
		})
	}
	parameters := map[string]any{}
	for i := range r.between(0, 12) {
		parameters[fmt.Sprintf("%s_%s_%d", r.word(), pick(r, "limit", "timeout", "size"), i)] = r.suffix(r.between(1, 12))
	}
	return map[string]any{
		"engine":     map[string]any{"name": "postgres", "version": version(r)},
		"instances":  int64(r.between(1, 5)),
		"storage":    map[string]any{"size": fmt.Sprintf("%dGi", 10*r.between(1, 200)), "class": pick(r, "gp3", "io2")},
		"backup":     map[string]any{"schedule": fmt.Sprintf("%d %d * * *", r.IntN(60), r.IntN(24)), "retentionDays": int64(r.between(7, 90))},
		"users":      users,
		"parameters": parameters,
		"paused":     r.chance(5),
	}
}

func databaseStatus(r random, created metav1.Time) map[string]any {
	conditions := []any{}
	for _, kind := range []string{"Ready", "Progressing", "BackedUp"} {
		conditions = append(conditions, map[string]any{
			"type": kind, "status": pick(r, "True", "True", "False"), "reason": kind + "AsExpected", "observedGeneration": int64(1),
			"message": "instance " + r.suffix(12) + " reports " + r.word(), "lastTransitionTime": later(created, r.between(1, 90000)).UTC().Format(time.RFC3339),
		})
	}
	members := []any{}
	for i := range r.between(1, 5) {
		members = append(members, map[string]any{"name": fmt.Sprintf("member-%d", i), "node": NodeName(r.IntN(clusterNodes)), "address": podIP(r)})
	}
	return map[string]any{"phase": "Running", "conditions": conditions, "members": members, "observedGeneration": int64(1)}
}
