//go:build e2e && fleet

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// Shell commands that get a file as their argument: write the state of the hub's
	// API server to it, and put that state back.
	snapshotEnv = "SNAPSHOT_HUB"
	restoreEnv  = "RESTORE_HUB"
	// heldFor is how long the copies are watched on a hub without ConfigMaps.
	heldFor = 60 * time.Second
)

// A hub that is restored from a backup without its ConfigMaps takes no copy away.
// The add-on says that it holds the deletions; when the ConfigMaps are back, no
// copy was ever deleted. It runs alone: the hub forgets what others have done.
func TestHubRestored(t *testing.T) {
	env, err := loadEnvironment(os.Getenv, 1)
	if err != nil {
		t.Fatal(err)
	}
	env.requireReady(t)
	env.removeLeftovers(t)
	defer env.collectOnFailure(t)
	c := env.first()
	cleanup(t, "disable the add-on", func(ctx context.Context) error { return env.restore(ctx, c) })
	reach(t, env.startEnabling(t, c, "before the backup", env.enableV1alpha1))
	env.deleteSource(t, c, firstConfigMap)
	env.settle(t, c)

	backup := filepath.Join(t.TempDir(), "hub.backup")
	must(t, "back the hub up", runWith(t.Context(), snapshotEnv, backup))
	names := []string{"e2e-restored-1", "e2e-restored-2", "e2e-restored-3", "e2e-restored-4", "e2e-restored-5"}
	uids := map[string]types.UID{}
	for _, name := range names {
		source := env.createSource(t, c, configMap(name, map[string]string{"name": name}))
		eventually(t, "the copy", c.hasCopy(source))
		found, err := c.copyOf(t.Context(), name)
		must(t, "get the copy", err)
		uids[name] = found.UID
	}
	eventually(t, "the hub says so", env.reports(c, metav1.ConditionTrue, "Synced", "5 of 5"))

	must(t, "restore the hub", runWith(t.Context(), restoreEnv, backup))
	kept := func(ctx context.Context) error { return c.hasCopies(ctx, uids) }
	stillKept := fatal(t, "a copy is lost", kept)
	eventually(t, "the hub is back, without the ConfigMaps", func(ctx context.Context) error {
		if err := stillKept(ctx); err != nil {
			return err
		}
		_, err := env.hub.kube.CoreV1().ConfigMaps(c.name).Get(ctx, names[0], metav1.GetOptions{})
		return gone("ConfigMap "+names[0], err)
	})
	eventually(t, "the add-on says that it holds the deletions", func(ctx context.Context) error {
		if err := stillKept(ctx); err != nil {
			return err
		}
		return env.reports(c, metav1.ConditionFalse, "DeletionHeld", names[0])(ctx)
	})
	consistently(t, heldFor, "no copy is deleted", observations(kept))

	for _, name := range names {
		env.createSource(t, c, configMap(name, map[string]string{"name": name}))
	}
	eventually(t, "all is well", env.reports(c, metav1.ConditionTrue, "Synced", "5 of 5"))
	eventually(t, "no copy was ever deleted", stillKept)
	env.settle(t, c)
	eventually(t, "no copy was ever deleted", stillKept)
}

// hasCopies checks that the copies are still the very same objects.
func (c *cluster) hasCopies(ctx context.Context, uids map[string]types.UID) error {
	list, err := c.kube.CoreV1().ConfigMaps(c.installNamespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	found := map[string]*corev1.ConfigMap{}
	for i := range list.Items {
		found[list.Items[i].Name] = &list.Items[i]
	}
	var errs []error
	for name, uid := range uids {
		switch now := found[name]; {
		case now == nil:
			errs = append(errs, observation{fmt.Errorf("copy %s is gone", name)})
		case now.UID != uid:
			errs = append(errs, observation{fmt.Errorf("copy %s was deleted and created again", name)})
		}
	}
	return errors.Join(errs...)
}

// runWith runs a command of the environment with a file.
func runWith(ctx context.Context, name, file string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	command := os.Getenv(name)
	if command == "" {
		return fmt.Errorf("%s is not set: test/e2e/on-sandbox shows what it is", name)
	}
	if output, err := exec.CommandContext(ctx, "sh", "-c", command+" '"+file+"'").CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", command, err, output)
	}
	return nil
}
