package bench

import (
	"strings"
	"testing"

	"open-cluster-management.io/helloworld-addon/test/fleet/record"
)

func TestValidate(t *testing.T) {
	for _, c := range []struct {
		name, why string
		options   Options
		want      string
	}{
		{"all steps", "no steps mean all", Options{Clusters: 5}, ""},
		{"rotation alone", "it has a fleet of its own", Options{Clusters: 5, Steps: []string{record.Rotate}}, ""},
		{"no clusters", "there is nothing to measure", Options{}, "--clusters=0"},
		{"an unknown step", "a typo must not run nothing", Options{Clusters: 5, Steps: []string{"enabel"}}, "the steps are join,"},
		{"idle without enable", "a step needs what comes before it", Options{Clusters: 5, Steps: []string{record.Join, record.Idle}}, "need it"},
	} {
		err := c.options.Validate()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s (%s): got %v, want %q", c.name, c.why, err, c.want)
		}
	}
}

func TestVersionIn(t *testing.T) {
	const file = `module x
require open-cluster-management.io/one v1.2.1
require (
	k8s.io/kubernetes v1.34.4
	k8s.io/api v0.34.4 // indirect
	replaced.io/a v1.0.0
)
replace replaced.io/a => other.io/a v1.1.0
`
	for module, want := range map[string]string{
		"open-cluster-management.io/one": "v1.2.1", "k8s.io/kubernetes": "v1.34.4", "k8s.io/api": "v0.34.4", "replaced.io/a": "v1.1.0", "k8s.io/ap": "", "absent": "",
	} {
		if got := versionIn(file, module); got != want {
			t.Errorf("%s: got %q, want %q", module, got, want)
		}
	}
}

// TestSmokeTouchesInTime: before OCM would renew, a touch does nothing; after the expiry it is too late.
func TestSmokeTouchesInTime(t *testing.T) {
	times := Smoke(20)
	const backdated = 5 // minutes
	whole := times.CertificateLife.Minutes() + backdated
	earliest, latest := times.CertificateLife.Minutes()-whole/5, times.CertificateLife.Minutes()-0.5
	if at := times.Touch.Minutes(); at < earliest || at > latest {
		t.Errorf("touched after %.1f minutes, between %.1f and %.1f would be right", at, earliest, latest)
	}
}
