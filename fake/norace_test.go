//go:build !race

package fake_test

const raceDetector = false
