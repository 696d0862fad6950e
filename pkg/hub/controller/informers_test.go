package controller

import (
	"context"
	"errors"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
	addonfake "open-cluster-management.io/api/client/addon/clientset/versioned/fake"
)

func TestAwaitSync(t *testing.T) {
	tests := []struct {
		name   string
		reason string
		broken bool // the add-on API cannot be read
		ended  bool // the controller is told to end meanwhile
		want   string
	}{
		{name: "all is read", reason: "the normal case"},
		{name: "the conversion webhook is away", broken: true,
			want: "could not read from the hub within 3s: ManagedClusterAddOn: check the API server, the controller's rights, " +
				"and the conversion webhook of the add-on API",
			reason: "it says what is missing and what to do"},
		{name: "told to end while waiting", broken: true, ended: true, reason: "a normal end"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			i := startFrameworkOn(t, func(addons *addonfake.Clientset) {
				if test.broken {
					addons.PrependReactor("list", "managedclusteraddons", func(clienttesting.Action) (bool, runtime.Object, error) {
						return true, nil, errors.New("conversion webhook failed")
					})
				}
			}, withLastKnown)
			ctx, cancel := context.WithCancel(t.Context())
			defer i.shutdown()
			defer cancel()
			i.start(ctx)
			timeout := time.Minute
			if test.broken {
				timeout = 3 * time.Second
			}
			if test.ended {
				cancel()
			}
			var got string
			if err := i.awaitSync(ctx, timeout); err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("%s:\nwant %q\ngot  %q", test.reason, test.want, got)
			}
		})
	}
}
