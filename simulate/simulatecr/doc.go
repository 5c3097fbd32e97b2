// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package simulatecr runs managers of controller-runtime in package simulate.
//
//	func TestWebsites(t *testing.T) {
//		options := ctrl.Options{Scheme: scheme, LeaderElection: true, LeaderElectionID: "websites"}
//		simulate.Run(t, simulate.Test{
//			Start: simulatecr.Start(options, func(m ctrl.Manager) error {
//				return (&WebsiteReconciler{Client: m.GetClient()}).SetupWithManager(m)
//			}),
//			...
//		})
//	}
//
// In a suite of Ginkgo, ginkgo.GinkgoT() takes the place of t.
//
// # What differs from production
//
//   - The manager listens on no port: metrics, probes and pprof are not served. Webhooks that admit
//     objects are called by the API server of the simulation, if their configurations are among
//     Test.Objects: see simulate.ServeWebhooks. Webhooks that convert versions are not. A
//     WebhookServer of the options is replaced.
//   - It logs nothing unless the options have a Logger. The first call of [Start] silences the
//     global logger of controller-runtime, unless the test has called ctrl.SetLogger before.
//   - A Lease lasts for 6 minutes and is renewed every 2 minutes, instead of 15 and 2 seconds,
//     unless the options have durations. A Lease that was not released is taken over within 15
//     minutes: if there are several replicas, Test.Rest must not be shorter. Without a
//     LeaderElectionNamespace, the Lease is in "default".
//   - Controllers recover panics, which fail the run, even if the options say otherwise.
//   - The queues of controllers have no metrics and no names. They are not priority queues, unless
//     the options of a controller ask for one: a priority queue of controller-runtime v0.24.1 that
//     is shut down may block forever with its lock held, since it waits for a worker that has
//     ended. Such a run hangs. It was mended in July 2026: controller-runtime v0.25.2 has
//     https://github.com/kubernetes-sigs/controller-runtime/pull/3540.
//   - A controller that the program starts itself, such as one of controller.NewUnmanaged, is not
//     changed.
//   - The names of controllers are not checked to be unique in the process, since each run has the
//     same.
//   - A manager whose context is cancelled before its cache has synced returns. Without this
//     package it runs a loop without end, until the process is killed.
package simulatecr
