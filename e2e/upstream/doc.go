// Package upstream holds programs and parts of Kubernetes, unmodified, to informers of ours. It is a module of its own,
// because k8s.io/kubernetes cannot be required beside another release of client-go: so here the library is compiled
// against the client-go of Kubernetes v1.36.
//
// The tests of this folder need no server: they drive the handlers of two controllers, on a clock of their own, through a
// backlog of events under each delivery that a handler can ask for. They hold that nobody who counts what he has created
// is misled by events that were joined, and, by joining wrongly in the test, that he would notice.
//
// Package kubemanager runs controllers and the scheduler against a real API server.
package upstream
