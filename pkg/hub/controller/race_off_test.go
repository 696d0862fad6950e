//go:build !race

package controller

// raceDetector reports whether the tests run under the race detector.
const raceDetector = false
