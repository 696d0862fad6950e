package supervisor

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestKeepApplied checks that objects which another writer has changed come back, also after an error.
func TestKeepApplied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		restored := make(chan bool, 1)
		fail := true
		go keepApplied(ctx, func(context.Context) error {
			if fail {
				fail = false
				return errors.New("the API server is stopped")
			}
			select {
			case restored <- true:
			default:
			}
			return nil
		})
		for range 2 {
			select {
			case <-restored:
			case <-time.After(time.Hour): // of the test's time
				t.Fatal("the objects are not written again")
			}
		}
	})
}
