package lease_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"open-cluster-management.io/helloworld-addon/pkg/agent/lease"
)

// leases stands for the client of a cluster.
type leases struct{}

func (leases) Get(_ context.Context, name string, _ metav1.GetOptions) (*coordinationv1.Lease, error) {
	return nil, apierrors.NewNotFound(schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}, name)
}

func (leases) Create(_ context.Context, l *coordinationv1.Lease, _ metav1.CreateOptions) (*coordinationv1.Lease, error) {
	fmt.Printf("create Lease %s/%s: held by %s for %d s\n", l.Namespace, l.Name, *l.Spec.HolderIdentity, *l.Spec.LeaseDurationSeconds)
	return l, nil
}

func (leases) Update(_ context.Context, l *coordinationv1.Lease, _ metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	return l, nil
}

// An add-on's agent renews its lease only while its health check passes. This one
// fails once.
func Example() {
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	var checks atomic.Int32
	renewer := lease.New(lease.Config{
		Spec:   lease.Spec{Namespace: "copies", Name: "helloworld", Holder: "pod-1", Duration: time.Minute},
		Client: leases{},
		Clock:  clock.RealClock{},
		Healthy: func() error {
			if checks.Add(1) == 1 {
				return errors.New("not connected")
			}
			return nil
		},
		Paused:  func(reason error) { fmt.Println("no renewal:", reason) },
		Renewed: func(error) { stop() },
	})
	renewer.Run(ctx)
	// Output:
	// no renewal: not connected
	// create Lease copies/helloworld: held by pod-1 for 60 s
}
