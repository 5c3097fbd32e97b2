// Kubemanager is a part of kube-controller-manager (the ReplicaSet, Deployment, Job and EndpointSlice controllers and the
// garbage collector) and kube-scheduler with its default profile, in one process, unmodified, on informers of choice:
//
//	kubemanager --kubeconfig=file --informers=client-go|kinformer|kinformer-packed
//
// What these programs make of informer factories is done here as they do it: the fields that they trim, the Pods that the
// scheduler selects, the content type. Nothing but the factories depends on the flag.
//
// It prints "ready" when its caches have synced, and ends at SIGTERM or an interrupt.
package main
