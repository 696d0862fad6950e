package status

import (
	"cmp"
	"fmt"
	"slices"
)

// summaryBudget is how many bytes of JSON a list has that cannot be whole anyway.
// It has room for about 1,300 clusters, more than anybody reads, and a write
// costs the API server less than 0.1 s of CPU instead of the second that a list
// of 1 MiB costs, for every cluster that changes.
const summaryBudget = 128 << 10

// fit returns which of the entries are listed, in their order: all of them if
// they fit into the budget. If not, as many as fit into the summary's budget, the
// most urgent first: the entries of rank 0, then those of rank 1, and so on;
// among entries of one rank those that come first. size is an entry's share of
// the JSON, in bytes.
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
	budget = min(budget, summaryBudget)
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
