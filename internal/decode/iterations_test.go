//go:build !stress

package decode

// Numbers of random rounds and repetitions. The build tag stress raises them.
const (
	objectsPerType  = 3
	mutatedRounds   = 100
	truncatedRounds = 500
	decodeRounds    = 2
	jsonDocuments   = 10_000
)
