// Command nodecache keeps a local, always-current copy of a cluster's nodes and
// shows it: the main job of an informer, and nothing else.
//
// Without flags it needs no cluster. It brings up fake.APIServer, simulates nodes
// that join, change and leave, and watches them over HTTP through client-go as it
// would watch a real cluster; with --cluster it does watch a real one.
//
// informer.go has what a program needs to use package cache; everything else
// is where the nodes come from (connect.go, kubeconfig.go, simulation.go,
// machine.go) and how they are shown (table.go, screen.go, lines.go, once.go).
package main
