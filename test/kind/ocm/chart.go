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
)

// Namespace holds OCM's operators, and the add-on's controller on the hub.
const Namespace = "open-cluster-management"

// chartTimeout bounds one release; nothing in it waits for pods.
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

// release installs the chart, or upgrades the release that is there to the
// same values.
func release(ctx context.Context, kubeconfig string, c *chart.Chart, values map[string]any) error {
	settings := cli.New()
	settings.KubeConfig = kubeconfig
	settings.KubeContext = ""
	settings.SetNamespace(Namespace)
	config := &action.Configuration{}
	if err := config.Init(settings.RESTClientGetter(), Namespace, "secret", func(string, ...any) {}); err != nil {
		return fmt.Errorf("prepare the release %s: %w", c.Name(), err)
	}
	ctx, cancel := context.WithTimeout(ctx, chartTimeout)
	defer cancel()

	_, err := config.Releases.Last(c.Name())
	if errors.Is(err, driver.ErrReleaseNotFound) {
		install := action.NewInstall(config)
		install.ReleaseName = c.Name()
		install.Namespace = Namespace
		install.CreateNamespace = true
		install.Timeout = chartTimeout
		if _, err := install.RunWithContext(ctx, c, values); err != nil {
			return fmt.Errorf("install the chart %s: %w", c.Name(), err)
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for the release %s: %w", c.Name(), err)
	}
	upgrade := action.NewUpgrade(config)
	upgrade.Namespace = Namespace
	upgrade.Timeout = chartTimeout
	if _, err := upgrade.RunWithContext(ctx, c.Name(), c, values); err != nil {
		return fmt.Errorf("upgrade the chart %s: %w", c.Name(), err)
	}
	return nil
}
