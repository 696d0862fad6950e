package requests

import (
	"context"
	"fmt"
	"time"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

const timeout = 30 * time.Second

// Counter counts one program's requests to one API server.
type Counter struct {
	client  kubernetes.Interface
	program string
}

// Install puts the FlowSchemas into the cluster; it has to happen before the
// program starts, and the API server takes a moment to use them. The offset
// keeps the programs of one cluster apart: a multiple of ten.
func Install(ctx context.Context, client kubernetes.Interface, program string, offset int32, users ...flowcontrolv1.Subject) (*Counter, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for _, schema := range schemas(program, offset, users) {
		_, err := client.FlowcontrolV1().FlowSchemas().Create(ctx, schema, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return nil, fmt.Errorf("create FlowSchema %s: %w", schema.Name, err)
		}
	}
	return &Counter{client: client, program: program}, nil
}

// Count asks the API server.
func (c *Counter) Count(ctx context.Context) (Counts, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	metrics, err := c.client.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the metrics of an API server: %w", err)
	}
	return parse(metrics, c.program)
}
