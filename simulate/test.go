// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"context"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kinformer/kinformer/fake"
	"github.com/kinformer/kinformer/simulate/internal/canonical"
	"github.com/kinformer/kinformer/simulate/internal/rbac"
)

// Test describes a program and what it is tested with. Start is required.
type Test struct {
	// Start runs the program until ctx is cancelled, and returns when all its goroutines have
	// ended. It must reach the API server by config alone, listen on no port, and install no signal
	// handler. It is called in each run, and again after a crash, or an error after a disturbance.
	Start func(ctx context.Context, config *rest.Config) error
	// Replicas is the number of times that Start is called at once. Zero means one.
	Replicas int
	// Roles are what the processes may do: one element is that of all, several are those of process
	// 1, 2 and so on. Without them, everything is permitted. World and Cluster may do everything. A
	// request that is answered with 403 for the roles fails the run, see [Refused].
	Roles []Roles

	// CustomResources are served in addition to the built-in resources.
	CustomResources []fake.CustomResource
	// Objects exist before Start is called, in this order: a CustomResourceDefinition, which takes
	// the place of a CustomResource, comes before the objects of its kind. They are not changed.
	// The webhooks of configurations among them are called: see [ServeWebhooks].
	Objects []fake.Object
	// Setup is called once in each run, before the first call of Start. What a run needs anew is
	// made by it, such as the service outside of the API server that [World.External] returns a
	// transport for.
	Setup func(*World)
	// Outside returns the state of what the program does outside of the API server. It is compared
	// at each end of a [World.Settle] as the objects are, and reported as an object: the fields are
	// those of its JSON. Setup has to bring it to the same beginning in each run. Outside must not
	// block.
	Outside func() any
	// Steps changes the world while the program runs. It is called when the program is at rest, in
	// each run, and must do the same each time. The program comes to rest once more after it.
	Steps func(*World)
	// Cluster is the controllers and kubelets of the cluster: all or some of [Workloads], or the
	// test's own.
	Cluster []Actor

	// Disturb is the disturbances to try. Nil means all but BackInTime.
	Disturb []Disturbance
	// Without switches oracles off.
	Without []Oracle
	// MayBeRefused reports whether the API server may refuse a request of the program for ever: see
	// [Refused]. The verb is that of RBAC, and a subresource follows it: "update status". Of the
	// object, only apiVersion, kind, namespace and name are set, and no kind if the API server does
	// not serve the resource.
	MayBeRefused func(verb string, obj fake.Object) bool
	// Invariants are called after each write of the program that has changed something, or that the
	// API server has refused. An error fails the test.
	Invariants []func(Write) error
	// Ignore is fields in which end states may differ, such as
	// "status.conditions[*].lastTransitionTime", or "Pod status.podIP" for one kind. A write that
	// changes nothing else does not count for Rest.
	Ignore []string
	// Rest is the time without a write that changes anything, after which the program is at rest.
	// Zero means 20 minutes, which is longer than the longest delay of client-go's work queues. It
	// must be shorter than the period of a program that writes on a timer. It takes no time: the
	// bubble's clock advances when all goroutines are blocked.
	Rest time.Duration

	ignored        canonical.Ignored
	permissions    []*rbac.Permissions // of Roles
	configurations []fake.Object       // of webhooks, among Objects
}

const defaultRest = 20 * time.Minute
