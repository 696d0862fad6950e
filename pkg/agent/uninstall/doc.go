// Package uninstall removes the copies when the add-on is deleted, and makes
// the agent stop before.
//
// OCM runs the pre-delete hook, a Job in the install namespace, while the agent
// still runs. The hook (Hook) creates the ConfigMap manifests.UninstallMarker,
// waits until the agent has answered on it that it has stopped, deletes the
// copies, and, when a fresh list shows none, the agent's lease, and ends. The
// agent asks Gate (pure) before everything it writes, and does not renew its
// lease any more once it has stopped.
//
// Why a ConfigMap: the agent watches the ConfigMaps of the install namespace in
// any case, and a watch tells of them in the order in which they were written.
// So an agent that learns that a copy was deleted knows of the marker already,
// also when it has lost the hub and cannot see that the add-on is being
// deleted. The marker belongs to the Job, or in hosted mode to the agent's
// ServiceAccount on the managed cluster, and goes with it, which is after the
// agent was removed.
//
// Where no agent answers, because there is none, the hook waits a while and
// goes on; whatever copies come back keep it from ending. So it does where the
// API server refuses the marker.
//
// It deletes nothing but what the mirror owns (plan.Copy.Owned).
package uninstall
