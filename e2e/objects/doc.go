// Package objects makes Nodes and Pods as a production cluster has them, and lets them live on an API server the way the
// components do: a ReplicaSet controller creates a Pod, the scheduler binds it, a network plugin annotates it, the kubelet
// reports its status, each under its own field manager, so that the server computes managedFields of the real size. A
// running Pod is 5-13 KB of protobuf, the median 7 KB, more than half of which is managedFields.
//
// Everything is drawn from a seed: the same seed gives the same objects, but for what the server adds.
package objects
