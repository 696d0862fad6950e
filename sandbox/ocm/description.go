package ocm

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"open-cluster-management.io/helloworld-addon/sandbox/apply"
	"open-cluster-management.io/helloworld-addon/sandbox/process"
)

// description is an object of OCM's operator that describes programs of the sandbox. People and add-ons
// read it; no program of the sandbox does.
type description struct {
	kind, name string
	// spec points to that of the kind's Go type.
	spec       any
	conditions []metav1.Condition
}

const (
	// describePeriod is the period with which descriptions are compared with the programs.
	describePeriod = time.Second
	// describeAgain is the time after which an unchanged description is written again, because
	// someone may have changed it, or restored the cluster.
	describeAgain = 30 * time.Second
	// describeTimeout limits a write, for example to a stopped API server.
	describeTimeout = 10 * time.Second
)

// keepDescribed writes the description to the cluster whenever it changes, until ctx ends.
func keepDescribed(ctx context.Context, cluster *rest.Config, describe func() description) error {
	applier, err := apply.New(cluster)
	if err != nil {
		return err
	}
	var written description
	var writtenAt time.Time
	var conditions []metav1.Condition
	var failure string
	ticker := time.NewTicker(describePeriod)
	defer ticker.Stop()
	for {
		if d := describe(); !reflect.DeepEqual(d, written) || time.Since(writtenAt) >= describeAgain {
			for _, condition := range d.conditions {
				meta.SetStatusCondition(&conditions, condition)
			}
			err := d.write(ctx, applier, conditions)
			if err == nil {
				written, writtenAt, failure = d, time.Now(), ""
			} else if ctx.Err() == nil && err.Error() != failure {
				failure = err.Error()
				klog.FromContext(ctx).Error(err, "Cannot describe programs", "kind", d.kind, "name", d.name)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// write applies the object and its status.
func (d description) write(ctx context.Context, applier *apply.Applier, conditions []metav1.Condition) error {
	ctx, cancel := context.WithTimeout(ctx, describeTimeout)
	defer cancel()
	object := &unstructured.Unstructured{Object: map[string]any{}}
	object.SetAPIVersion("operator.open-cluster-management.io/v1")
	object.SetKind(d.kind)
	object.SetName(d.name)
	spec, err := runtime.DefaultUnstructuredConverter.ToUnstructured(d.spec)
	if err != nil {
		return fmt.Errorf("encode the spec of %s %s: %w", d.kind, d.name, err)
	}
	object.Object["spec"] = spec
	generation, err := applier.ApplyObject(ctx, object)
	if err != nil {
		return err
	}
	status := struct {
		ObservedGeneration int64              `json:"observedGeneration"`
		Conditions         []metav1.Condition `json:"conditions"`
	}{generation, conditions}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&status)
	if err != nil {
		return fmt.Errorf("encode the status of %s %s: %w", d.kind, d.name, err)
	}
	delete(object.Object, "spec")
	object.Object["status"] = fields
	return applier.ApplyStatus(ctx, object)
}

// running returns a condition with the status if all programs run, and with the opposite otherwise.
func running(kind string, status metav1.ConditionStatus, reason, otherwise string, programs ...process.Spec) metav1.Condition {
	var run, stopped []string
	for _, p := range programs {
		if p.Switch.Running() {
			run = append(run, p.Name)
		} else {
			stopped = append(stopped, p.Name)
		}
	}
	if len(stopped) == 0 {
		return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: "these programs run: " + strings.Join(run, ", ")}
	}
	opposite := metav1.ConditionTrue
	if status == metav1.ConditionTrue {
		opposite = metav1.ConditionFalse
	}
	return metav1.Condition{Type: kind, Status: opposite, Reason: otherwise, Message: "these programs do not run: " + strings.Join(stopped, ", ")}
}
