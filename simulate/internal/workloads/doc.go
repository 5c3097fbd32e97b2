// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package workloads plays the cluster's own controllers in a simulation: those of Kubernetes, and
// kube-scheduler and the kubelets. Each is a pure function from all objects to the writes that it
// could do next. Package simulate gives it a State, and schedules and executes the Actions.
//
//	simulate --State--> ControlDeployments, ControlJobs, RunPods, ... --[]Action--> simulate
//
// The exported functions have the names of those of package simulate that programs call, whose
// documentation says what each does. A controller has a file, and uses no other controller's:
//
//   - deployments.go and deploymentstatus.go, replicasets.go, statefulsets.go and revisions.go,
//     jobs.go, namespaces.go;
//   - garbage.go, claims.go, and pods.go, which is kube-scheduler and the kubelets.
//
// They share what is below them: state.go has the State and the Action, and finds and changes
// objects; owners.go adopts, releases and creates the Pods of a controller; podstate.go says what a
// Pod does, and which one is deleted first; slices.go filters lists.
package workloads
