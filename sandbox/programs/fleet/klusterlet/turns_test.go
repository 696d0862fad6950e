package klusterlet

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns(1, time.Minute)
		// take reports whether a turn comes within the time.
		take := func(within time.Duration) (func(), bool) {
			ctx, cancel := context.WithTimeout(t.Context(), within)
			defer cancel()
			done, err := turns.wait(ctx)
			if err != nil && !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
			return done, err == nil
		}
		first, ok := take(time.Second)
		if !ok {
			t.Fatal("no first turn")
		}
		if _, ok := take(time.Second); ok {
			t.Error("two turns at a time")
		}
		first()
		first() // a second call ends no other's turn
		second, ok := take(time.Second)
		if !ok {
			t.Fatal("no turn after the first one's end")
		}
		if _, ok := take(30 * time.Second); ok {
			t.Error("a turn ended before the limit")
		}
		third, ok := take(time.Minute)
		if !ok {
			t.Fatal("a turn did not end with the limit")
		}
		second() // too late: it is the third one's turn
		if _, ok := take(time.Second); ok {
			t.Error("the end of a turn that was over ended another one")
		}
		third()
	})
}
