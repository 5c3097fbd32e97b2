//go:build !race

package intern

const underRace = false
