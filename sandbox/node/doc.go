// Package node is a Kubernetes node whose pods run as processes of this machine.
//
// It registers one node through virtual-kubelet, watches the pods that are bound
// to it, resolves the objects that they refer to (environment, volumes, service
// account tokens), starts their containers through a [Runtime] in a pod [Network],
// probes and restarts them, and reports their status by kubelet's rules. To the
// cluster it is an ordinary node: a Deployment on it becomes available, a Job on
// it completes, and kubectl logs, exec, cp, attach and port-forward reach it. It
// needs only the rights of a node (user system:node:NAME, group system:nodes).
//
// It does not pull images (it looks a name up in [Images]), route services (package
// services does), set their environment variables, or limit memory or CPU. A pod with a setting that plan.Unsupported
// names stays pending, and an event and the containers' status name the setting.
//
// The decisions are in package plan: functions from values to values. One
// goroutine per pod, the worker, carries them out. A pod passes these files:
//
//	provider.go       virtual-kubelet hands the pod to a worker
//	worker.go         the worker's loop, its inbox, and the pod's removal
//	sync.go           one pass: network, volumes, due starts, the end
//	container.go      one run of a container: start, probes, exit
//	hooks.go          its postStart and preStop hooks
//	status_writer.go  the status that results, written as a patch
package node
