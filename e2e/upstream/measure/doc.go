// Measure runs kubemanager beside a real kube-apiserver that holds many Pods, on each kind of informers, and prints what it
// takes: the same program, the same cluster, one flag.
//
//	go -C e2e/upstream run ./measure [-pods 20000] [-rounds 3]
//
// For each of kube-controller-manager's controllers and kube-scheduler it says: the CPU time until the caches have synced and
// the program has come to rest, the peak of its resident memory by then, the CPU time for changes of so many Pods, and its
// resident memory after them. It needs Linux.
package main
