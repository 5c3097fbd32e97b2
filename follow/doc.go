// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package follow makes informers follow what a server serves. An informer of a custom resource
// starts when its CustomResourceDefinition appears, makes no requests while there is none, and
// delivers the deletions when it goes.
//
//	follower := follow.New(metadataClient, discoveryClient, follow.Options{})
//	widgets := cache.NewSharedInformer(cache.ListWatchOf(dynamicClient.Resource(gvr)), &unstructured.Unstructured{},
//		cache.InformerOptions[*unstructured.Unstructured]{Served: follower.Resource(gvr)})
//	err := cache.RunAll(ctx, follower.Run, widgets.Run)
//
// A program has one [Follower] for each server, whatever the number of its informers. [All] makes
// the informers, too: one for each resource that a function selects.
//
//	CustomResourceDefinitions ──┐
//	(metadata-only watch)       │
//	APIServices ────────────────┤──▶ evidence ──▶ verdict ──▶ informers of the resource
//	(metadata-only watch)       │       ▲            a 404 confirms it before objects are removed
//	discovery ──────────────────┘       │
//	   ▲  /apis with If-None-Match      │
//	   └──────── a change ──────────────┘
//
// # Discovery
//
// The follower makes its first request once the lists of CustomResourceDefinitions and APIServices
// have each succeeded or failed, and after 30 s in any case. If they have succeeded,
// Resource.CustomResource is right from the first answer on.
//
// A change of a definition (a CustomResourceDefinition or an APIService) makes the follower ask
// what the server serves, by aggregated discovery (KEP-3352), at once and again after pauses of 1,
// 2, 4, ... 64 s, since the API servers learn of it one by one. Changes that arrive together cause
// one request. There is at most one a second, and in the long run 12 a minute. Most are answered
// with 304, and few bytes. Without a change, it asks every ten minutes, or every 64 s while
// discovery fails or the follower does not observe (see below). A server without aggregated
// discovery is also asked for the resources of each followed version, at the start and when a
// definition of its group has changed.
//
// # When a resource is taken to be absent
//
// In each case the informer's own request must also have failed with a 404, unless it has no
// objects:
//
//	the server has shown                               outcome
//	─────────────────────────────────────────────────  ──────────────────────────────────────────────
//	the deletion of the CustomResourceDefinition, or   gone: the objects are deleted with it
//	its absence from a consistent list
//	a new generation of the CustomResourceDefinition,  not served: the objects may exist
//	and, within two minutes, discovery that has the
//	group, current, and the resource not in this
//	version
//	the deletion of the APIService of an aggregated    not served: the objects may exist
//	API
//	a first list of definitions without its            not served: the objects may exist
//	definition, and discovery that listed it before
//	and does not any more
//	discovery without the resource, to an informer     not served; the informer waits
//	that has not started
//
// The APIServices that the server itself makes, which have the label
// kube-aggregator.kubernetes.io/automanaged from the start, are no evidence.
//
// All else is no evidence: discovery that fails or has a version with freshness Stale, a resource
// that discovery drops without a change that was seen, a 403, the 503 of an aggregated API, a 404
// alone. The informer then keeps its last good state, with the error in its Status, as without a
// follower. An answer that is equal to one that was replaced less than two minutes ago, without a
// change since, is that of a server that lags behind, and is ignored.
//
// A follower does not observe while it may not list and watch CustomResourceDefinitions or
// APIServices, and while its first lists or its first discovery request fail: informers request
// what is not served, as without a follower, and Status.Err says why. A server that answers these
// lists with 404, and whose discovery does not list the resource either, has none of them: the
// follower observes.
//
// # Concurrency
//
// Follower.mu guards the evidence and the verdicts. Each event, and each answer of discovery,
// updates the verdicts on all followed resources with the lock held, in O(resources). Informers
// copy the served resources after each such change, with the lock held, too. A resource is
// followed from the first call of Follower.Resource on, during WaitForServed, and while Informers
// have it. A verdict ends the contexts of the requests of its informers. One goroutine asks
// discovery. [Informers] have one goroutine that selects, and two for each informer.
//
// # Permissions
//
//	rules:
//	- apiGroups: [apiextensions.k8s.io]
//	  resources: [customresourcedefinitions]
//	  verbs: [list, watch]
//	- apiGroups: [apiregistration.k8s.io]
//	  resources: [apiservices]
//	  verbs: [list, watch]
//
// Discovery is permitted to all authenticated users by the ClusterRole system:discovery.
package follow
