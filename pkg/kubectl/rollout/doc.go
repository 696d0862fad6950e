// Package rollout is "kubectl helloworld rollout": it shows and controls the rollout of a ConfigMapReplicaSet, as
// "kubectl rollout" does for a Deployment.
//
// Package plan decides; this package reads the objects, prints, and writes. It writes spec.paused of the set,
// and to undo, either the content of one source ConfigMap or the sources and values of the set. It never deletes anything,
// and writes nothing in the namespace of a cluster: that is the controller's, which follows.
//
// There is no restart. A Deployment's restart replaces pods; the agents keep each ConfigMap as its source all the time,
// and a rollout that stopped continues by itself when its cause is gone.
package rollout
