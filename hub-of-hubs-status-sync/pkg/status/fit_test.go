package status

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

// item is an entry with a rank, a place and a size.
type item struct{ rank, place, size int }

var itemListing = listing[item]{
	compare: func(a, b item) int { return cmp.Or(cmp.Compare(a.place, b.place), cmp.Compare(a.rank, b.rank)) },
	rank:    func(i item) int { return i.rank },
	size:    func(i item) int { return i.size },
}

// plainFit is the rule as it is told, at the cost of sorting everything.
func plainFit(entries []item, budget int) []item {
	entries = slices.Clone(entries)
	slices.SortFunc(entries, itemListing.compare)
	total := 0
	for _, entry := range entries {
		total += entry.size
	}
	if total <= budget {
		return entries
	}
	slices.SortStableFunc(entries, func(a, b item) int { return cmp.Compare(a.rank, b.rank) })
	var listed []item
	used := 0
	for _, entry := range entries {
		if used += entry.size; used > min(budget, summaryBudget) {
			break
		}
		listed = append(listed, entry)
	}
	slices.SortFunc(listed, itemListing.compare)
	return listed
}

// TestFit: what is listed is what the rule says, whatever the sizes, and however few are taken of how many.
func TestFit(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	shortened := 0
	for round := range 2000 {
		entries := make([]item, random.IntN(300))
		for i := range entries {
			rank, place := random.IntN(3), random.IntN(200)
			// entries that are equal in what orders them are equal altogether
			entries[i] = item{rank: rank, place: place, size: 1 + (place*7+rank)%(1+round%40)}
		}
		budget := random.IntN(2500)
		want := plainFit(entries, budget)
		got := itemListing.fit(slices.Clone(entries), budget)
		if !slices.Equal(want, got) {
			t.Fatalf("of %d entries within %d: want %v, got %v", len(entries), budget, want, got)
		}
		if len(want) < len(entries) {
			shortened++
		}
	}
	if shortened < 100 {
		t.Fatalf("only %d lists were shortened: the test shows nothing", shortened)
	}
}
