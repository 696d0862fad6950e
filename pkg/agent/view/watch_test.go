package view

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
)

func TestBrake(t *testing.T) {
	expired := apierrors.NewResourceExpired("too old")
	b := &brake{clock: clock.RealClock{}}
	var waits []time.Duration
	for _, err := range []error{nil, expired, nil, expired, expired, expired, expired, errors.New("another"), expired} {
		waits = append(waits, b.next(err))
	}
	want := []time.Duration{0, 0, 0, 0, brakeBase, 2 * brakeBase, 4 * brakeBase, 0, 0}
	if diff := cmp.Diff(want, waits); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for range 100 {
		b.next(expired)
	}
	if wait := b.next(expired); wait != brakeMax {
		t.Errorf("waits %s in the end", wait)
	}
}
