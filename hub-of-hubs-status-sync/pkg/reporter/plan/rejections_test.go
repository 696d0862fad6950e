package plan

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
)

// many are n different rejections.
func many(n int) []status.Rejection {
	var all []status.Rejection
	for i := range n {
		all = append(all, status.Rejection{Entry: fmt.Sprint(i), Reason: "bad"})
	}
	return all
}

// TestRejections: each is said once, and a message stays short.
func TestRejections(t *testing.T) {
	one, two := many(2)[:1], many(2)[1:]
	var r Rejections
	for _, step := range []struct {
		name   string
		forget bool
		all    []status.Rejection
		fresh  []string
		more   int
	}{
		{"none", false, nil, nil, 0},
		{"the first", false, one, []string{"0: bad"}, 0},
		{"again", false, one, nil, 0},
		{"another one", false, append(two, one...), []string{"1: bad"}, 0},
		{"for another reason", false, []status.Rejection{{Entry: "0", Reason: "worse"}}, []string{"0: worse"}, 0},
		{"again when everything is looked at", true, one, nil, 0},
		{"what does not come then is still known", false, two, nil, 0},
		{"again when everything is looked at once more", true, one, nil, 0},
		{"and once more", true, one, nil, 0},
		{"what was right meanwhile is news", false, two, []string{"1: bad"}, 0},
		{"many", false, many(14)[2:], []string{"2: bad", "3: bad", "4: bad", "5: bad", "6: bad", "7: bad", "8: bad", "9: bad", "10: bad", "11: bad"}, 2},
		{"as many as are remembered", false, many(rememberedRejections),
			[]string{"14: bad", "15: bad", "16: bad", "17: bad", "18: bad", "19: bad", "20: bad", "21: bad", "22: bad", "23: bad"}, rememberedRejections - 24},
		{"more than are remembered", false, many(rememberedRejections + 5), nil, 0},
	} {
		if step.forget {
			r.Rotate()
		}
		fresh, more := r.Add(step.all)
		if diff := cmp.Diff(step.fresh, fresh); diff != "" || more != step.more {
			t.Errorf("%s: %d more, not %d (-want +got):\n%s", step.name, more, step.more, diff)
		}
	}
}
