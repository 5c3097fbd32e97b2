// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package simulate finds the bugs of a controller that appear when it crashes between two writes,
// acts on a stale cache, or never sees a state in between. It runs the program many times under go
// test, without a cluster, and needs no assertions. The program may be written with client-go,
// controller-runtime or kinformer; it needs no change if its entry point takes a rest.Config.
//
//	func TestWebsites(t *testing.T) {
//		simulate.Run(t, simulate.Test{
//			CustomResources: []fake.CustomResource{websites},
//			Objects:         []fake.Object{website},
//			Start:           func(ctx context.Context, config *rest.Config) error { return run(ctx, config) },
//			Steps:           func(w *simulate.World) { w.Update(scaledUp); w.Settle(); w.Delete(website) },
//		})
//	}
//
// # How a run works
//
// Each run has a bubble of testing/synctest, a fake.APIServer without a port, and the program,
// whose clients have the scheduler as transport:
//
//	program --request--> scheduler --> fake.APIServer
//	program <--events--- scheduler <---+
//	program --request--> scheduler --> handlers of World.External
//	program <--review--- scheduler <-- writes that match webhooks, see ServeWebhooks
//	cluster's actions -> scheduler
//
// Every request, every watch event and every action of the cluster is a stimulus. The scheduler
// waits until all goroutines are blocked, picks one stimulus, delivers it, and begins again. When
// there is none, the bubble's clock advances to the program's next timer. While there are some, it
// advances by a second after every 100 of them. The order is that of arrival, or drawn by a seed,
// so that a run can be repeated, up to the order of Go's maps and of select.
//
// The scheduler runs in the goroutine of Steps. Its lock guards what the goroutines of the program,
// of the server's watches and of the handlers of World.External and of webhooks add: requests,
// watch events, responses and reports. It is held for O(requests and watches), and never while the
// server, a handler or the program is called.
//
// The first run is undisturbed, and others differ from it in the order alone; see [Run]. The rest
// have disturbances, each at a write that is named by what it does; see [Disturbance].
//
// Test.Cluster is what else writes to the API server; see [Actor]. [Workloads] returns actors that
// play Kubernetes' own controllers and the kubelets.
//
// # What makes a run fail
//
// When the program is at rest at the end of a [World.Settle], all objects but Leases, Events and
// APIServices are compared with those of the undisturbed run. UIDs, versions, generations,
// managedFields and times are not compared, and generated names and hashes of templates are matched
// by the content of their objects. What Test.Outside returns is compared as an object is. An
// undisturbed run fails if the API server refuses a write to the end, see [Refused]: all runs would
// end alike. It also fails if the program writes nothing, unless Outside is compared or [EndState]
// is off. Any run fails if [Roles] of the test do not permit what the program does, if it breaks
// another rule, see [Oracle], or if an invariant of the test returns an error.
//
// A program that does not come to rest, since its writes undo each other or are refused each time,
// would run for ever. An undisturbed run is given up after 5,000 writes and events in the time
// Test.Rest, and 50 more for each of Test.Objects; another one after 1,000, ten times those of the
// undisturbed run, and 100 more for each second of a Lag, Gap or BackInTime. Ten reads count as a
// write does.
//
// # What it cannot find
//
// A crash cancels the context, and the process's requests fail from then on; its code runs on until
// Start returns. A service outside of the API server is simulated if it is reached by HTTP, see
// [World.External]: a database needs a fake in the bubble. A program that listens on a port, or
// holds a mutex while it sleeps, makes no progress. After 30 s of real time the run is abandoned:
// the test fails with the program's frames, and the goroutines stay blocked. If one runs without
// end, the process ends instead, since no simulation could run beside it.
//
// # Files
//
// Each line uses those below it. The scheduler also refers to the stimuli, whose types it holds.
//
//	simulate.go, runner.go      Run: the settings of the process, the search, and its report
//	schedule.go, bubble.go      which runs there are, in each shard; the *testing.T of bubbles
//	run.go, test.go, world.go   one run: its set-up, Steps and end
//	cluster.go, actor.go        the stimuli of the cluster: actors and their actions
//	workloads.go, invariant.go  actors and invariants that programs may use
//	serve.go                    a request with its disturbances, and what is checked after a write
//	admitted.go                 the admission of writes of Steps and of the cluster
//	webhooks.go, review.go      the program's webhooks, and their calls for one write
//	webhookcall.go              a call of a webhook, in a goroutine
//	external.go                 a service outside of the API server, and requests to it
//	refused.go                  requests that the API server refuses again and again
//	roles.go, grant.go          requests that the roles of a process do not permit
//	process.go, recorder.go     the stimuli of the program: its requests
//	watch.go, event.go          and its watches
//	scheduler.go                the loop, which picks a stimulus and calls its deliver
//	objects.go, mapper.go       what the server stores, and the resources of kinds
//	plan.go, disturbance.go     what goes wrong in a run
//	staleness.go, rest.go       what a process does not see, and when the program is at rest
//	quiescence.go, watchdog.go  when all goroutines are blocked, and what ends a run that never is
//	stacks.go                   the frames of the program among the stacks of goroutines
//	record.go, timeline.go      what has happened, and how a report prints it
//	point.go                    the names of writes
package simulate
