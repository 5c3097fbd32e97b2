# The packages whose tests use real time: they have sockets, processes or sleeps outside of a bubble of testing/synctest. They
# are tested one at a time, when nothing is compiled. test/repo checks the list, which has those of all modules but bench
# and e2e.
realtime :=
realtime += ./cache # sockets: examples, streams of bytes, and requests in all encodings
realtime += ./clientgo # sockets
realtime += ./clientgo/metadatainformer # a socket, of its example
realtime += ./cmd/kinformer # sockets and processes: the command
realtime += ./cmd/kinformer/internal/adopt # processes: go, which compiles
realtime += ./cmd/kinformer/internal/cluster # sockets
realtime += ./cmd/kinformer/internal/cost # sockets
realtime += ./cmd/kinformer/internal/measure # sockets and processes, one for each measurement
realtime += ./cmd/kinformer/internal/reader # sockets
realtime += ./cmd/kinformer/internal/try # processes: go, which compiles, and test binaries
realtime += ./debug # sockets, of its examples
realtime += ./examples/controller # a process, with sockets
realtime += ./examples/controllerruntime # a process, with sockets
realtime += ./examples/crd # a socket
realtime += ./examples/follow # a process
realtime += ./examples/nodecache # a process, with sockets
realtime += ./examples/podindex # a process
realtime += ./examples/podlifecycle # a process, and sockets
realtime += ./examples/podsource # a process, and files that are watched
realtime += ./examples/sharded # sockets, and Leases of two seconds
realtime += ./examples/testing # a socket
realtime += ./fake # sockets: the API server, and a second of load
realtime += ./follow # sockets: examples, and discovery
realtime += ./internal/source # sockets: HTTP/1 and HTTP/2
realtime += ./internal/tap # sockets
realtime += ./internal/testing/process # processes
realtime += ./internal/testing/random # processes: rounds that fail
realtime += ./shard # sockets, of its examples, whose Leases are renewed
realtime += ./simulate # processes, which the watchdog ends
realtime += ./simulate/simulatecr # a wait for a manager
realtime += ./test/faults # sockets: streams that break
realtime += ./test/mutants # a process: go, which compiles
realtime += ./test/repo # processes: go, git and make
realtime += ./test/soak # sockets, and sleeps: faults in real time
