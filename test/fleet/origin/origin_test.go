package origin

import "testing"

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
