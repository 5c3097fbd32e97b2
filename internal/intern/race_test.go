//go:build race

package intern

const underRace = true
