package chart

import (
	"regexp"
	"testing"
)

// TestVersionsAgree: one release is one version, the default tag of every
// image. A release changes it in these files together.
func TestVersionsAgree(t *testing.T) {
	const top = "../../../"
	version := regexp.MustCompile(`(?m)^IMAGE \?= quay\.io/open-cluster-management/helloworld-addon:(v\d+\.\d+\.\d+)$`).
		FindStringSubmatch(readFile(t, top+"Makefile"))
	if version == nil {
		t.Fatal("the Makefile's IMAGE has no version vX.Y.Z as its tag")
	}
	for file, pattern := range map[string]string{
		"manifests/names.go":                          `DefaultImage = "\S+:(\S+)"`,
		"deploy/base/deployment.yaml":                 `image: \S+/helloworld-addon:(\S+)`,
		"deploy/base/kustomization.yaml":              `newTag: (\S+)`,
		"deploy/chart/helloworld-addon/Chart.yaml":    `appVersion: (\S+)`,
		"deploy/lease-sidecar/hub/addontemplate.yaml": `image: \S+/helloworld-addon:(\S+)`,
		"deploy/lease-sidecar/hub/kustomization.yaml": `name: \S+/helloworld-addon\n  newTag: (\S+)`,
		"hub-of-hubs-status-sync/deploy/report/kustomization.yaml":     `newTag: (\S+)`,
		"hub-of-hubs-status-sync/deploy/report/deployment.yaml":        `image: \S+:(\S+)`,
		"hub-of-hubs-status-sync/deploy/sync/kustomization.yaml":       `newTag: (\S+)`,
		"hub-of-hubs-status-sync/deploy/sync/deployment.yaml":          `image: \S+:(\S+)`,
		"docs/lease-sidecar.md":                       `image: \S+/helloworld-addon:(\S+)`,
		"docs/install.md":                             `helloworld-addon:(v[\d.]+\d)`,
		"docs/hosted-mode.md":                         `helloworld-addon:(v[\d.]+\d)`,
	} {
		found := regexp.MustCompile(pattern).FindAllStringSubmatch(readFile(t, top+file), -1)
		if len(found) == 0 {
			t.Errorf("%s: no image's tag by %s", file, pattern)
		}
		for _, match := range found {
			if match[1] != version[1] {
				t.Errorf("%s has the tag %s, the Makefile %s", file, match[1], version[1])
			}
		}
	}
	if chart := regexp.MustCompile(`(?m)^version: (\S+)$`).FindStringSubmatch(readFile(t, chartDir+"/Chart.yaml")); chart == nil || "v"+chart[1] != version[1] {
		t.Errorf("the chart's version is %v, the Makefile's image %s", chart, version[1])
	}
}
