//go:build stress

package decode

// Numbers of random rounds and repetitions under the build tag stress.
const (
	objectsPerType  = 6
	mutatedRounds   = 400
	truncatedRounds = 2000
	decodeRounds    = 10
	jsonDocuments   = 20_000
)
