package gate

import (
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

// TestCheck: see docs/design.md#rule-6-uninstall.
func TestCheck(t *testing.T) {
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
		{name: "the hub has not answered", reason: "the add-on may be being deleted", want: ErrNotKnown},
		{name: "not enabled", reason: "a cluster without the add-on has no copies", addOn: AddOn{Known: true}, want: ErrNotEnabled},
		{name: "never reported", reason: "the hub does not wait for a hook without a report", addOn: AddOn{Known: true, UID: "now"}, want: ErrNotReported},
		{name: "being deleted", reason: "docs/design.md#rule-6-uninstall", addOn: deleting, want: ErrUninstalling, wantStopped: "now"},
		{name: "being deleted, never reported", reason: "nothing may be written any more", addOn: AddOn{Known: true, UID: "now", Deleting: true},
			want: ErrUninstalling, wantStopped: "now"},
		{name: "the hook is at work", reason: "the hub's watch may lag", addOn: enabled, marker: "now", want: ErrUninstalling, wantStopped: "now"},
		{name: "the hook is at work and the hub is unreachable", reason: "the agent sees only the marker", marker: "now",
			want: ErrUninstalling, wantStopped: "now"},
		{name: "the marker of an add-on that was there before", reason: "enabled anew", addOn: enabled, marker: "before"},
		{name: "the marker is gone", reason: "an uninstall is never taken back", addOn: enabled, stopped: "now", want: ErrUninstalling, wantStopped: "now"},
		{name: "the add-on is gone", reason: "an uninstall is never taken back", addOn: AddOn{Known: true}, stopped: "now",
			want: ErrUninstalling, wantStopped: "now"},
		{name: "gone after a marker", reason: "the hook has removed the copies", addOn: AddOn{Known: true}, marker: "now",
			want: ErrUninstalling, wantStopped: "now"},
		{name: "enabled anew", reason: "it has another UID", addOn: enabled, stopped: "before", wantStopped: "before"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := Check(test.addOn, test.marker, test.stopped)
			if !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v: %s", err, test.want, test.reason)
			}
			if got := StoppedFor(test.addOn, test.marker, test.stopped, err); got != test.wantStopped {
				t.Errorf("stopped for %q, want %q", got, test.wantStopped)
			}
		})
	}
}
