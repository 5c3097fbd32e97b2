//go:build race

package fake_test

// raceDetector tells that everything takes ten times as long.
const raceDetector = true
