package chart

import (
	"regexp"
	"strings"
	"testing"
)

// TestVersionsAgree: a release has one version, the default tag of every image. make
// release changes it in all files.
func TestVersionsAgree(t *testing.T) {
	const top = "../../../"
	version := strings.TrimSpace(readFile(t, top+"VERSION"))
	if !regexp.MustCompile(`^v\d+\.\d+\.\d+$`).MatchString(version) {
		t.Fatalf("VERSION has %q, want vX.Y.Z", version)
	}
	for file, pattern := range map[string]string{
		"manifests/names.go":                                       `DefaultImage = "\S+:(\S+)"`,
		"deploy/base/deployment.yaml":                              `image: \S+/helloworld-addon:(\S+)`,
		"deploy/base/kustomization.yaml":                           `newTag: (\S+)`,
		"deploy/chart/helloworld-addon/Chart.yaml":                 `appVersion: (\S+)`,
		"deploy/lease-sidecar/hub/addontemplate.yaml":              `image: \S+/helloworld-addon:(\S+)`,
		"deploy/lease-sidecar/hub/kustomization.yaml":              `name: \S+/helloworld-addon\n  newTag: (\S+)`,
		"hub-of-hubs-status-sync/deploy/report/kustomization.yaml": `newTag: (\S+)`,
		"hub-of-hubs-status-sync/deploy/report/deployment.yaml":    `image: \S+:(\S+)`,
		"hub-of-hubs-status-sync/deploy/sync/kustomization.yaml":   `newTag: (\S+)`,
		"hub-of-hubs-status-sync/deploy/sync/deployment.yaml":      `image: \S+:(\S+)`,
		"docs/lease-sidecar.md":                                    `image: \S+/helloworld-addon:(\S+)`,
		"docs/install.md":                                          `helloworld-addon:(v[\d.]+\d)`,
		"docs/hosted-mode.md":                                      `helloworld-addon:(v[\d.]+\d)`,
	} {
		found := regexp.MustCompile(pattern).FindAllStringSubmatch(readFile(t, top+file), -1)
		if len(found) == 0 {
			t.Errorf("%s: no image's tag by %s", file, pattern)
		}
		for _, match := range found {
			if match[1] != version {
				t.Errorf("%s has the tag %s, VERSION %s", file, match[1], version)
			}
		}
	}
	if chart := regexp.MustCompile(`(?m)^version: (\S+)$`).FindStringSubmatch(readFile(t, chartDir+"/Chart.yaml")); chart == nil || "v"+chart[1] != version {
		t.Errorf("the chart's version is %v, VERSION has %s", chart, version)
	}
}
