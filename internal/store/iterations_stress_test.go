//go:build stress

package store

// The iterations of the long tests in a stress run.
const (
	modelChecks   = 2000
	raceKeys      = 200
	raceRounds    = 200
	cursorChanges = 100_000
	shareRounds   = 500
)
