package plan_test

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"open-cluster-management.io/helloworld-addon/sandbox/node/plan"
)

// A container that keeps ending is restarted at once, and then after growing delays.
func ExampleBackOff_Delay() {
	backOff := plan.BackOff{Initial: 10 * time.Second, Max: 5 * time.Minute}
	for restarts := range 8 {
		fmt.Print(backOff.Delay(restarts), " ")
	}
	// Output: 0s 10s 20s 40s 1m20s 2m40s 5m0s 5m0s
}

// Init containers run before the others.
func ExampleNext() {
	pod := &corev1.Pod{Spec: corev1.PodSpec{
		InitContainers: []corev1.Container{{Name: "migrate"}},
		Containers:     []corev1.Container{{Name: "app"}, {Name: "sidecar"}},
	}}
	now := time.Now()
	states := plan.InitialStates(pod, now)
	fmt.Println(plan.Next(&pod.Spec, states, now).Start)

	backOff := plan.BackOff{Initial: 10 * time.Second, Max: 5 * time.Minute}
	running := states["migrate"].Running("run-1", "example.com/migrate:v1", "", now)
	fmt.Println(plan.Next(&pod.Spec, map[string]plan.ContainerState{"migrate": running}, now).Start)

	succeeded := running.Exited(plan.Exit{Code: 0}, "", now, now, false, backOff, "migrate")
	fmt.Println(plan.Next(&pod.Spec, map[string]plan.ContainerState{"migrate": succeeded}, now).Start)
	// Output:
	// [migrate]
	// []
	// [app sidecar]
}

// The node refuses a pod that needs what it does not have, and names it.
func ExampleUnsupported() {
	yes := true
	pod := &corev1.Pod{Spec: corev1.PodSpec{
		HostNetwork: true,
		Containers:  []corev1.Container{{Name: "app", SecurityContext: &corev1.SecurityContext{Privileged: &yes}}},
	}}
	for _, setting := range plan.Unsupported(pod, nil) {
		fmt.Println(setting)
	}
	// Output:
	// hostNetwork
	// container "app": privileged
}
