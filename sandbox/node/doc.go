// Package node is a Kubernetes node that runs pods as processes of this machine.
//
// It registers one node through virtual-kubelet, watches the pods that are bound
// to it, resolves what they refer to (environment, volumes, service account
// tokens), starts their containers through a [Runtime] in a pod [Network],
// probes and restarts them, and reports their status by kubelet's rules. To the
// cluster it is an ordinary node: a Deployment on it becomes available, a Job on
// it completes, and kubectl logs and port-forward reach it. It needs no rights
// but those of a node (user system:node:NAME, group system:nodes).
//
// It does not pull images (a name is looked up in [Images]), route services,
// serve DNS, limit memory or CPU, or run anything in a container that is already
// there (exec, attach, hooks). A pod that needs what it lacks stays pending, and
// an event and the containers' status say what is missing.
//
// The decisions are in pure files (admission, backoff, command, env, expand,
// fields, identity, payload, plan, probe_count, references, status, tokens_plan,
// transitions): functions from values to values. One goroutine per pod, the
// worker, carries them out.
package node
