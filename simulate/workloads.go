// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate

import "github.com/kinformer/kinformer/simulate/internal/workloads"

// Workloads returns actors for Test.Cluster, which has none by default: the controllers of
// Deployments, ReplicaSets, StatefulSets, Jobs and Namespaces, the garbage collector, the binding
// and the protection of claims, and kube-scheduler and the kubelets. They make the writes of
// Kubernetes 1.36's controllers, one at a time. A test that plays one of these parts itself lists
// the other actors. Time has no effect: minReadySeconds and deadlines are ignored.
func Workloads() []Actor {
	return []Actor{
		ControlDeployments, ControlReplicaSets, ControlStatefulSets, ControlJobs, ControlNamespaces,
		CollectGarbage, BindClaims, ProtectClaims, RunPods,
	}
}

// actionsOf returns the actions of a controller in a state.
func actionsOf(control func(workloads.State) []workloads.Action, s State) []Action {
	var actions []Action
	for _, action := range control(s.cluster) {
		actions = append(actions, Action(action))
	}
	return actions
}

// ControlDeployments creates, scales and deletes the ReplicaSets of Deployments, and writes the
// status.
func ControlDeployments(s State) []Action { return actionsOf(workloads.ControlDeployments, s) }

// ControlReplicaSets creates and deletes the Pods of ReplicaSets, and writes the status.
func ControlReplicaSets(s State) []Action { return actionsOf(workloads.ControlReplicaSets, s) }

// ControlStatefulSets creates the Pods and claims of StatefulSets, replaces Pods of an older
// template, deletes those that are too many, and writes ControllerRevisions and the status.
func ControlStatefulSets(s State) []Action { return actionsOf(workloads.ControlStatefulSets, s) }

// ControlJobs creates and deletes the Pods of Jobs, counts those that have ended, and writes the
// status. It ignores podFailurePolicy, successPolicy, backoffLimitPerIndex, and all that depends on
// time.
func ControlJobs(s State) []Action { return actionsOf(workloads.ControlJobs, s) }

// ControlNamespaces deletes the objects in terminating Namespaces, and then the Namespaces.
func ControlNamespaces(s State) []Action { return actionsOf(workloads.ControlNamespaces, s) }

// CollectGarbage deletes objects whose owners are all gone, and executes foreground and orphan
// deletions. A cluster-scoped object that refers to an owner in a Namespace stays, as in
// Kubernetes.
func CollectGarbage(s State) []Action { return actionsOf(workloads.CollectGarbage, s) }

// BindClaims sets PersistentVolumeClaims to Bound, and their capacity to the request. It makes no
// PersistentVolumes.
func BindClaims(s State) []Action { return actionsOf(workloads.BindClaims, s) }

// ProtectClaims gives PersistentVolumeClaims a finalizer, and removes it from those that are
// deleted and that no Pod on a node uses.
func ProtectClaims(s State) []Action { return actionsOf(workloads.ProtectClaims, s) }

// RunPods is kube-scheduler and the kubelets. It binds Pods to the first schedulable Node, or to
// the name "node" if there is none, once they have no scheduling gates and their claims are bound,
// makes them running, and ready once the conditions of their readiness gates are true, and removes
// them when they are deleted. Pods of Jobs succeed; others run until they are deleted. All have the
// same IP address.
func RunPods(s State) []Action { return actionsOf(workloads.RunPods, s) }
