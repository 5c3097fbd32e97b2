# The packages of the library whose tests use sockets, processes or real time: make test runs one of them at a time, and
# nothing beside it. A test of test/repo compares them with the test files.
realtime := \
	./cache \
	./clientgo \
	./clientgo/metadatainformer \
	./debug \
	./fake \
	./fake/internal/registry \
	./fake/internal/rest \
	./follow \
	./internal/source \
	./internal/tap \
	./internal/testing/process \
	./internal/testing/random \
	./metrics \
	./shard \
	./simulate
