package ocm

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"open-cluster-management.io/api/feature"
)

// TestGates compares the names with those in the API of the OCM that the sandbox runs.
func TestGates(t *testing.T) {
	if diff := cmp.Diff(map[string][]string{
		registrationController: names(feature.DefaultHubRegistrationFeatureGates),
		registrationAgent:      names(feature.DefaultSpokeRegistrationFeatureGates),
		workController:         names(feature.DefaultHubWorkFeatureGates),
		workAgent:              names(feature.DefaultSpokeWorkFeatureGates),
	}, gates); diff != "" {
		t.Errorf("the API has (-), the sandbox (+):\n%s", diff)
	}
}

func names[K ~string, V any](m map[K]V) []string {
	var names []string
	for name := range m {
		names = append(names, string(name))
	}
	slices.Sort(names)
	return names
}

func TestFeatureGates(t *testing.T) {
	for _, test := range []struct {
		name   string
		values []string
		want   FeatureGates
		err    string
	}{
		{"none", []string{""}, FeatureGates{}, ""},
		{"two components, the last value of a gate counts",
			[]string{"work-agent:RawFeedbackJsonString=false,registration-agent:ClusterProperty=true", "work-agent:RawFeedbackJsonString=true"},
			FeatureGates{"work-agent": {"RawFeedbackJsonString": true}, "registration-agent": {"ClusterProperty": true}}, ""},
		{"an unknown component", []string{"work:RawFeedbackJsonString=true"}, nil,
			`no component "work": those with feature gates are registration-agent, registration-controller, work-agent, work-controller`},
		{"a gate without a component", []string{"RawFeedbackJsonString=true"}, nil, `no component "RawFeedbackJsonString=true"`},
		{"a gate of another component", []string{"work-agent:ClusterProperty=true"}, nil,
			`work-agent has no feature gate "ClusterProperty": it has ExecutorValidatingCaches, RawFeedbackJsonString`},
		{"no value", []string{"work-agent:RawFeedbackJsonString"}, nil, `"" is neither true nor false: give work-agent:RawFeedbackJsonString=true`},
		{"a gate that --hubs sets", []string{"registration-agent:MultipleHubs=true"}, nil, "up --hubs sets it"},
		{"a gate without which no cluster joins", []string{"registration-controller:ManagedClusterAutoApproval=false"}, nil, "no cluster would join"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := FeatureGates{}
			var err error
			for _, value := range test.values {
				if err == nil {
					err = got.Set(value)
				}
			}
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("error %v, want %s", err, test.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			again := FeatureGates{}
			if err := again.Set(got.String()); err != nil {
				t.Errorf("Set of %q: %v", got.String(), err)
			}
			for name, gates := range map[string]FeatureGates{"parsed": got, "printed and parsed": again} {
				if diff := cmp.Diff(test.want, gates); diff != "" {
					t.Errorf("%s (-want +got):\n%s", name, diff)
				}
			}
		})
	}
}

func TestFeatureGateFlags(t *testing.T) {
	gates := FeatureGates{"registration-agent": {"ClusterProperty": true, "AddonManagement": false}}
	if diff := cmp.Diff([]string{"--feature-gates=AddonManagement=false,ClusterProperty=true"}, gates.flags("registration-agent")); diff != "" {
		t.Error(diff)
	}
	if flags := gates.flags("work-agent"); flags != nil {
		t.Errorf("a component without a gate has the flags %v", flags)
	}
}

func TestWorkController(t *testing.T) {
	for values, want := range map[string]bool{
		"": true,
		"work-controller:ManifestWorkReplicaSet=false":                                                   false,
		"work-controller:ManifestWorkReplicaSet=false,work-controller:CleanUpCompletedManifestWork=true": true,
	} {
		gates := DefaultFeatureGates()
		if err := gates.Set(values); err != nil {
			t.Fatal(err)
		}
		if got := gates.runWorkController(); got != want {
			t.Errorf("with %q the work controller runs: %t, want %t", values, got, want)
		}
	}
}
