// Package figures turns measurements into figures: percentiles and rates. It is
// pure arithmetic and measures nothing.
package figures
