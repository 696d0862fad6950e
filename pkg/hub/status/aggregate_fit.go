package status

import (
	"cmp"
	"fmt"
	"slices"
)

// fit returns which of the entries fit into the budget, in their order. When not
// all do, the most urgent ones stay: the entries of rank 0 first, then those of
// rank 1, and so on; among entries of one rank those that come first. size is
// an entry's share of the JSON, in bytes.
//
// This is the rule for every status that would outgrow an object: numbers and
// overall states are always of all rows, and only the list is shortened.
func fit[T any](entries []T, budget int, rank func(T) int, size func(T) int) []T {
	total := 0
	for _, entry := range entries {
		total += size(entry)
	}
	if total <= budget {
		return entries
	}
	order := make([]int, len(entries))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(rank(entries[a]), rank(entries[b])) })
	used, kept := 0, 0
	for _, i := range order {
		if used += size(entries[i]); used > budget {
			break
		}
		kept++
	}
	order = order[:kept]
	slices.Sort(order)
	result := make([]T, kept)
	for i, index := range order {
		result[i] = entries[index]
	}
	return result
}

// leftOut says that only some are listed; empty when all are.
func leftOut(kept, all int, what string) string {
	if kept == all {
		return ""
	}
	return fmt.Sprintf("%d of %d %s listed", kept, all, what)
}
