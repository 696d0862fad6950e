package ocm

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/cli"
	"helm.sh/helm/v3/pkg/storage/driver"
	"helm.sh/helm/v3/pkg/strvals"
)

// Namespace holds OCM's operators, and the add-on's controller on the hub.
const Namespace = "open-cluster-management"

// chartTimeout bounds one release.
const chartTimeout = 2 * time.Minute

// loadChart reads a chart that is embedded in OCM's module below dir.
func loadChart(files fs.FS, dir string) (*chart.Chart, error) {
	var buffered []*loader.BufferedFile
	err := fs.WalkDir(files, dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := fs.ReadFile(files, path)
		if err != nil {
			return err
		}
		buffered = append(buffered, &loader.BufferedFile{Name: strings.TrimPrefix(path, dir+"/"), Data: data})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the chart %s: %w", dir, err)
	}
	loaded, err := loader.LoadFiles(buffered)
	if err != nil {
		return nil, fmt.Errorf("load the chart %s: %w", dir, err)
	}
	return loaded, nil
}

// release installs the chart under a name, or upgrades the release that is there to
// the same values.
func release(ctx context.Context, kubeconfig, name string, c *chart.Chart, values map[string]any) error {
	return install(ctx, kubeconfig, name, c, values, false)
}

// InstallChart installs the chart in dir as a release of its own name into
// Namespace, with values as `helm --set` takes them, or upgrades the release
// that is there, and waits until everything in it is ready.
func InstallChart(ctx context.Context, kubeconfig, dir string, set []string) error {
	c, err := loader.LoadDir(dir)
	if err != nil {
		return fmt.Errorf("load the chart %s: %w", dir, err)
	}
	values := map[string]any{}
	for _, value := range set {
		if err := strvals.ParseInto(value, values); err != nil {
			return fmt.Errorf("parse the value %q: %w", value, err)
		}
	}
	return install(ctx, kubeconfig, c.Name(), c, values, true)
}

// UninstallChart removes the release of this name, and waits until it is gone.
func UninstallChart(ctx context.Context, kubeconfig, name string) error {
	config, err := helmFor(kubeconfig, name)
	if err != nil {
		return err
	}
	uninstall := action.NewUninstall(config)
	uninstall.Wait, uninstall.Timeout = true, chartTimeout
	if _, err := uninstall.Run(name); err != nil {
		return fmt.Errorf("uninstall the release %s: %w", name, err)
	}
	return ctx.Err()
}

// helmFor is Helm's configuration for a release.
func helmFor(kubeconfig, name string) (*action.Configuration, error) {
	settings := cli.New()
	settings.KubeConfig = kubeconfig
	settings.KubeContext = ""
	settings.SetNamespace(Namespace)
	config := &action.Configuration{}
	if err := config.Init(settings.RESTClientGetter(), Namespace, "secret", func(string, ...any) {}); err != nil {
		return nil, fmt.Errorf("prepare the release %s: %w", name, err)
	}
	return config, nil
}

func install(ctx context.Context, kubeconfig, name string, c *chart.Chart, values map[string]any, wait bool) error {
	config, err := helmFor(kubeconfig, name)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, chartTimeout)
	defer cancel()

	_, err = config.Releases.Last(name)
	if errors.Is(err, driver.ErrReleaseNotFound) {
		install := action.NewInstall(config)
		install.ReleaseName = name
		install.Namespace = Namespace
		install.CreateNamespace = true
		install.Wait, install.Timeout = wait, chartTimeout
		if _, err := install.RunWithContext(ctx, c, values); err != nil {
			return fmt.Errorf("install the chart %s: %w", name, err)
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for the release %s: %w", name, err)
	}
	upgrade := action.NewUpgrade(config)
	upgrade.Namespace = Namespace
	upgrade.Wait, upgrade.Timeout = wait, chartTimeout
	if _, err := upgrade.RunWithContext(ctx, name, c, values); err != nil {
		return fmt.Errorf("upgrade the chart %s: %w", name, err)
	}
	return nil
}
