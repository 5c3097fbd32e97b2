// Package dataset makes the objects that benchmarks measure with, as like those of
// a production cluster as objects of a generator can be.
//
// Pods come in three sets. In [R20] each workload has a shape of its own and twenty
// Pods, in [R3] three, in [R1] each Pod is the only one of its shape. Shapes differ
// in containers (1-4), environment (0-30 variables), volumes (1-8), probes, ports,
// labels, annotations, affinities, tolerations and in who manages fields. The Pods
// of one shape differ in what they differ in on a real server: names, UIDs,
// versions, times, node, addresses, container IDs, the name of the token volume.
// Each is 4 to 8 KB of protobuf, 6.4 KB on average, of which about half is
// managedFields: those that the server would write for the object as it is.
//
// The i-th object of a set depends on the seed and on i alone: a million Pods need
// not be in memory at once.
//
// Objects that a set returns share strings with each other, as decoded ones do not.
// Whoever measures memory must decode them: see [Encoded].
package dataset
