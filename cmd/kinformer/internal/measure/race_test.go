//go:build race

package measure_test

// raceDetector reports whether the tests run with the race detector, which slows them tenfold.
const raceDetector = true
