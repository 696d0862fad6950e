package uninstall

import (
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

func TestGate(t *testing.T) {
	enabled := AddOn{Known: true, UID: "now", Reported: true}
	deleting := AddOn{Known: true, UID: "now", Deleting: true, Reported: true}
	tests := []struct {
		name, reason    string
		addOn           AddOn
		marker, stopped types.UID
		want            error
		wantStopped     types.UID
	}{
		{name: "enabled", reason: "the usual case", addOn: enabled},
		{name: "hub not asked yet", reason: "it may be being deleted", want: ErrNotKnown},
		{name: "not enabled", reason: "whoever has no add-on has no copies", addOn: AddOn{Known: true}, want: ErrNotEnabled},
		{name: "never reported", reason: "a hook is not waited for without a report", addOn: AddOn{Known: true, UID: "now"}, want: ErrNotReported},
		{name: "being deleted", reason: "rule 6", addOn: deleting, want: ErrUninstalling, wantStopped: "now"},
		{name: "being deleted, never reported", reason: "nothing may be written any more", addOn: AddOn{Known: true, UID: "now", Deleting: true},
			want: ErrUninstalling, wantStopped: "now"},
		{name: "the hook is at work", reason: "the hub's watch may lag", addOn: enabled, marker: "now", want: ErrUninstalling, wantStopped: "now"},
		{name: "the hook is at work and the hub is out of reach", reason: "the marker is all there is to see", marker: "now",
			want: ErrUninstalling, wantStopped: "now"},
		{name: "the marker of an add-on that was there before", reason: "enabled anew", addOn: enabled, marker: "before"},
		{name: "the marker is gone", reason: "an uninstall is never taken back", addOn: enabled, stopped: "now", want: ErrUninstalling, wantStopped: "now"},
		{name: "the add-on is gone", reason: "an uninstall is never taken back", addOn: AddOn{Known: true}, stopped: "now",
			want: ErrUninstalling, wantStopped: "now"},
		{name: "gone after a marker", reason: "the hook has removed the copies", addOn: AddOn{Known: true}, marker: "now",
			want: ErrUninstalling, wantStopped: "now"},
		{name: "enabled anew", reason: "it is another one", addOn: enabled, stopped: "before", wantStopped: "before"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := Gate(test.addOn, test.marker, test.stopped)
			if !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v: %s", err, test.want, test.reason)
			}
			if got := StoppedFor(test.addOn, test.marker, test.stopped, err); got != test.wantStopped {
				t.Errorf("stopped for %q, want %q", got, test.wantStopped)
			}
		})
	}
}
