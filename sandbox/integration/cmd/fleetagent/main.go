// Command fleetagent is the agent of an add-on for the tests of a fleet. On each cluster it counts in
// a ConfigMap how often it was called, and writes its arguments to it. Its first call in each pod
// fails, for the agent's Deployment and for a Job.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"open-cluster-management.io/helloworld-addon/sandbox/fleet"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := fleet.Serve(ctx, fleet.Agents{Image: "registry.example.com/fleetagent", Agent: agent, Job: job})
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// called has the workloads whose first call was made.
var called sync.Map

func agent(ctx context.Context, cluster fleet.Cluster) error {
	if err := count(ctx, cluster, "agent"); err != nil {
		return err
	}
	if _, again := called.LoadOrStore(cluster.Name+string(cluster.PodUID), true); !again {
		return errors.New("the first call fails")
	}
	<-ctx.Done()
	return nil
}

func job(ctx context.Context, cluster fleet.Cluster) error {
	if err := count(ctx, cluster, "job"); err != nil {
		return err
	}
	if _, again := called.LoadOrStore(cluster.Name+"/job", true); !again {
		return errors.New("the first pod fails")
	}
	return nil
}

// count increments the number of calls in the ConfigMap.
func count(ctx context.Context, cluster fleet.Cluster, name string) error {
	client, err := kubernetes.NewForConfig(cluster.Managed)
	if err != nil {
		return fmt.Errorf("client of %s: %w", cluster.Name, err)
	}
	maps := client.CoreV1().ConfigMaps(cluster.Namespace)
	found, err := maps.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		found, err = maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	}
	if err != nil {
		return fmt.Errorf("read the calls of %s: %w", cluster.Name, err)
	}
	calls, _ := strconv.Atoi(found.Data["calls"])
	found.Data = map[string]string{
		"cluster": cluster.Name, "pod": cluster.Pod.Name, "args": strings.Join(cluster.Container.Args, " "), "calls": strconv.Itoa(calls + 1),
	}
	if _, err := maps.Update(ctx, found, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("write the calls of %s: %w", cluster.Name, err)
	}
	return nil
}
