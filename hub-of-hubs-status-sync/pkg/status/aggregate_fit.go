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

// listing says how the entries of a list are ordered and which of them go first.
type listing[T any] struct {
	// compare is the order in which entries are listed.
	compare func(a, b T) int
	// rank is 0 for the most urgent entries.
	rank func(T) int
	// size is an entry's share of the JSON, in bytes.
	size func(T) int
}

// fit returns which of the entries are listed, in their order: all of them if
// they fit into the budget. If not, as many as fit into the summary's budget, the
// most urgent first: the entries of rank 0, then those of rank 1, and so on;
// among entries of one rank those that come first. It sorts the entries that it
// is given if they all fit.
//
// This is the rule for every status that would outgrow an object: numbers and
// overall states are always of all rows, and only the list is shortened.
func (l listing[T]) fit(entries []T, budget int) []T {
	total, smallest := 0, 1<<30
	for _, entry := range entries {
		size := l.size(entry)
		total, smallest = total+size, min(smallest, size)
	}
	if total <= budget {
		slices.SortFunc(entries, l.compare)
		return entries
	}
	budget = min(budget, summaryBudget)
	chosen := first(entries, budget/max(1, smallest), func(a, b T) int {
		return cmp.Or(cmp.Compare(l.rank(a), l.rank(b)), l.compare(a, b))
	})
	used, kept := 0, 0
	for _, entry := range chosen {
		if used += l.size(entry); used > budget {
			break
		}
		kept++
	}
	chosen = chosen[:kept]
	slices.SortFunc(chosen, l.compare)
	return chosen
}

// first returns the n entries that come first, sorted. Of a million entries it
// sorts no more than a few thousand.
func first[T any](entries []T, n int, compare func(a, b T) int) []T {
	if n <= 0 {
		return nil
	}
	var kept []T
	for _, entry := range entries {
		if len(kept) >= n && compare(entry, kept[n-1]) >= 0 {
			continue // kept[:n] is sorted, and none of its n comes after it
		}
		if kept = append(kept, entry); len(kept) == n || len(kept) == 2*n {
			slices.SortFunc(kept, compare)
			kept = kept[:n]
		}
	}
	slices.SortFunc(kept, compare)
	return kept[:min(n, len(kept))]
}

// leftOut says that only some are listed; empty when all are.
func leftOut(kept, all int, what string) string {
	if kept == all {
		return ""
	}
	return fmt.Sprintf("%d of %d %s listed", kept, all, what)
}
