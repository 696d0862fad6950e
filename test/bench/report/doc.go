// Package report holds what was measured as rows, and prints it: one table for
// people, JSON for later comparisons. It is pure, and judges nothing: an aim
// stands beside what was reached.
package report
