package control

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"open-cluster-management.io/helloworld-addon/sandbox/controlplane"
	"open-cluster-management.io/helloworld-addon/sandbox/process"
)

// restarted lists the programs that a restore stops in this order and starts in reverse:
// etcd, the API server, and the programs with caches that Kubernetes' documentation names:
// https://kubernetes.io/docs/tasks/administer-cluster/configure-upgrade-etcd/#restoring-an-etcd-cluster
var restarted = []string{"kube-scheduler", "kube-controller-manager", "kube-apiserver", "etcd"}

// answerTimeout limits the wait for an API server to answer again.
const answerTimeout = 2 * time.Minute

// Snapshot saves the etcd database of a cluster to the file. It stops etcd for about a
// second.
func (s *Sandbox) Snapshot(ctx context.Context, cluster, file string) error {
	if _, err := s.index(cluster); err != nil {
		return err
	}
	dir := filepath.Join(s.dir, cluster)
	etcd := process.SwitchOf(dir, "etcd")
	err := etcd.Off(ctx)
	if err == nil {
		err = copyFile(filepath.Join(controlplane.EtcdDir(dir), "member", "snap", "db"), file)
	}
	if err := errors.Join(err, etcd.On(ctx)); err != nil {
		return fmt.Errorf("save a snapshot of %s: %w", cluster, err)
	}
	return s.awaitAnswer(ctx, cluster)
}

// Restore replaces the data of a cluster's etcd by a snapshot.
//
// It raises the revision above all revisions that clients may have seen, and marks all
// earlier ones as compacted. Otherwise open watches would wait for a future revision, and
// informers would keep deleted objects:
// https://etcd.io/docs/v3.6/op-guide/recovery/#restoring-with-revision-bump
func (s *Sandbox) Restore(ctx context.Context, cluster, file string) error {
	index, err := s.index(cluster)
	if err != nil {
		return err
	}
	dir := filepath.Join(s.dir, cluster)
	restored := controlplane.EtcdDir(dir) + ".restored"
	if err := os.RemoveAll(restored); err != nil {
		return fmt.Errorf("remove an unfinished restore: %w", err)
	}
	args := append([]string{"snapshot", "restore", file, "--data-dir=" + restored}, controlplane.EtcdMember(cluster, index)...)
	// A file copied from etcd's directory has no hash.
	args = append(args, "--skip-hash-check", "--mark-compacted", fmt.Sprintf("--bump-revision=%d", bump(time.Now())))
	out, err := exec.CommandContext(ctx, filepath.Join(s.record.Programs, "etcdutl"), args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("restore %s from %s: %w\n%s", cluster, file, err, strings.TrimSpace(string(out)))
	}
	if err := s.replaceData(ctx, dir, restored); err != nil {
		return fmt.Errorf("restore %s from %s: %w", cluster, file, err)
	}
	return s.awaitAnswer(ctx, cluster)
}

// bump returns the increase of the revision for a restore at this time. It grows by 1,000
// a second, which is more than a sandbox writes, so a later restore of the same snapshot
// has higher revisions.
func bump(now time.Time) int64 { return now.UnixMilli() }

// replaceData stops the programs that depend on etcd's data, replaces the data, and starts
// them again.
func (s *Sandbox) replaceData(ctx context.Context, dir, restored string) error {
	for _, program := range restarted {
		if err := process.SwitchOf(dir, program).Off(ctx); err != nil {
			return err
		}
	}
	err := os.RemoveAll(controlplane.EtcdDir(dir))
	if err == nil {
		err = os.Rename(restored, controlplane.EtcdDir(dir))
	}
	for _, program := range slices.Backward(restarted) {
		err = errors.Join(err, process.SwitchOf(dir, program).On(ctx))
	}
	return err
}

// index returns the index of a hub or managed cluster.
func (s *Sandbox) index(cluster string) (int, error) {
	if i := slices.Index(s.record.Clusters, cluster); i >= 0 {
		return i, nil
	}
	return 0, fmt.Errorf("no cluster %q in this sandbox: there are %s", cluster, strings.Join(s.record.Clusters, ", "))
}

// awaitAnswer waits until the cluster's API server is ready.
func (s *Sandbox) awaitAnswer(ctx context.Context, cluster string) error {
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(s.dir, cluster+".kubeconfig"))
	if err != nil {
		return fmt.Errorf("client of %s: %w", cluster, err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("client of %s: %w", cluster, err)
	}
	var last error
	err = wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, answerTimeout, true, func(ctx context.Context) (bool, error) {
		_, last = client.Discovery().RESTClient().Get().AbsPath("/readyz").Timeout(5 * time.Second).DoRaw(ctx)
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("the API server of %s does not answer: %w", cluster, errors.Join(err, last))
	}
	return nil
}

// copyFile copies a file. After an error there is no target.
func copyFile(from, to string) (err error) {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = source.Close() }()
	unfinished := to + ".new"
	target, err := os.OpenFile(unfinished, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	if err = errors.Join(err, target.Close()); err == nil {
		return os.Rename(unfinished, to)
	}
	if removeErr := os.Remove(unfinished); !errors.Is(removeErr, fs.ErrNotExist) {
		err = errors.Join(err, removeErr)
	}
	return err
}
