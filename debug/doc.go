// Copyright The kinformer Authors
// SPDX-License-Identifier: Apache-2.0

// Package debug serves a page that shows the informers of a program: for each, its problems with
// their causes, its phase, objects, freshness, rate of events and relists. An informer's own page
// shows the backlog of each handler. A table shows the members of package shard whose Scopes the
// informers use: their slots, why slots were taken and lost, and the objects of slots and members.
//
//	mux.Handle("/debug/informers/", debug.Handler(debug.Options{}, pods, factory))
//
// The page is read-only and has no outside dependency: its style and script are part of the
// program. Without JavaScript it is a plain table. Answers are compressed by gzip if the client
// accepts it. Links are relative, so that the page works below any prefix that ends in a slash,
// with or without http.StripPrefix. The overview reads the Status of each informer, and no object.
// Requests that read all keys of an informer, or the content of an object, are limited to two at a
// time. Another one waits for up to two seconds, and then gets 503.
//
// # What it discloses
//
// The page shows names of informers, handlers, indexes, members of shard groups and their programs,
// the namespaces and selectors of scopes, the keys of objects, resourceVersions, error texts, and
// counts. Error texts of this module have no values of objects, no credentials of the client and no
// continue tokens. Those of the server, of the program's functions and of its transport are shown
// as they are: they are not searched for credentials. The handler does not authenticate: serve it
// where the program serves net/http/pprof.
//
// With Options.ShowObjects, the page also shows the content of objects. It does not show an object
// whose kind ends in Secret or is not known, nor one that has stringData, or type and data, nor one
// whose kind contains Secret and that has data or stringData, also in its spec. An annotation with
// the last applied configuration counts as the object. The kind is known if the object has
// apiVersion and kind, if the informer of unstructured objects was given them, or if the Go type is
// one of k8s.io/api, or a PartialObject of one.
//
// A web site can make its visitor's browser ask a loopback address by a name of the site's own (DNS
// rebinding). At a loopback address the handler therefore answers only to the Host localhost or an
// IP address, and to Options.Hosts; other requests get 421 Misdirected Request.
//
// # JSON
//
// informers.json has what the overview shows, informer.json?id=N what the page of an informer
// shows. The pages themselves answer with the same JSON to a request that accepts application/json
// and not text/html. docs/observing.md lists the fields.
package debug
