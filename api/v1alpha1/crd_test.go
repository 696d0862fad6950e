package v1alpha1

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdvalidation "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresource/tableconvertor"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"
)

const crds = "../../deploy/base/crds/helloworld.open-cluster-management.io_"

// readCRD returns the definition as kube-apiserver stores it.
func readCRD(t *testing.T, plural string) (*apiextensionsv1.CustomResourceDefinition, *apiextensions.CustomResourceDefinition) {
	t.Helper()
	content, err := os.ReadFile(filepath.FromSlash(crds + plural + ".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	external, internal := &apiextensionsv1.CustomResourceDefinition{}, &apiextensions.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(content, external); err != nil {
		t.Fatal(err)
	}
	apiextensionsv1.SetDefaults_CustomResourceDefinition(external)
	apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&external.Spec)
	if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(external, internal, nil); err != nil {
		t.Fatal(err)
	}
	// The API server sets it when it stores the definition.
	internal.Status.StoredVersions = []string{GroupVersion.Version}
	return external, internal
}

// TestCRDs: kube-apiserver accepts the definitions: the schemas are structural, the defaults
// are valid, and the CEL rules stay below the cost limits.
// https://kubernetes.io/docs/reference/using-api/cel/#resource-constraints
func TestCRDs(t *testing.T) {
	for _, plural := range []string{"configmapmirrors", "configmapreplicasets"} {
		t.Run(plural, func(t *testing.T) {
			_, crd := readCRD(t, plural)
			if errs := crdvalidation.ValidateCustomResourceDefinition(t.Context(), crd); len(errs) > 0 {
				t.Error(errs.ToAggregate())
			}
		})
	}
}

// admit does what kube-apiserver does with an object of the kind: it prunes, sets defaults and
// validates. It returns the problems.
func admit(t *testing.T, plural, text string) field.ErrorList {
	t.Helper()
	_, crd := readCRD(t, plural)
	schema := crd.Spec.Validation.OpenAPIV3Schema
	structural, err := structuralschema.NewStructural(schema)
	if err != nil {
		t.Fatal(err)
	}
	validator, _, err := validation.NewSchemaValidator(schema)
	if err != nil {
		t.Fatal(err)
	}
	var object map[string]any
	if err := yaml.Unmarshal([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
	object, _ = normalized(object).(map[string]any)
	before := runtime.DeepCopyJSON(object)
	pruning.Prune(object, structural, true)
	if diff := cmp.Diff(before, object); diff != "" {
		t.Errorf("fields that the schema does not know (-text +pruned):\n%s", diff)
	}
	defaulting.Default(object, structural)
	errs := validation.ValidateCustomResource(nil, object, validator)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, structural, object)...)
	celErrs, _ := cel.NewValidator(structural, true, celconfig.PerCallLimit).
		Validate(t.Context(), nil, structural, object, nil, celconfig.RuntimeCELCostBudget)
	return append(errs, celErrs...)
}

// normalized returns the value with int64 instead of float64, as kube-apiserver decodes it.
func normalized(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key := range v {
			v[key] = normalized(v[key])
		}
	case []any:
		for i := range v {
			v[i] = normalized(v[i])
		}
	case float64:
		return int64(v)
	}
	return value
}

const whole = `
apiVersion: helloworld.open-cluster-management.io/v1alpha1
kind: ConfigMapReplicaSet
metadata: {name: settings, namespace: team-a}
spec:
  configMaps: [{name: settings}]
  values:
  - {name: REGION, label: region, default: eu}
  - {name: VERSION, claim: kubeversion.open-cluster-management.io}
  - {name: URL, expression: "'https://' + cluster.metadata.name + '.example.com'"}
` + placements

const placements = `  placementRefs:
  - name: canary
  - name: production
    rolloutStrategy: {type: ProgressivePerGroup, progressivePerGroup: {minSuccessTime: 5m, progressDeadline: 10m, maxFailures: 2}}
`

func TestReplicaSetValidation(t *testing.T) {
	for name, test := range map[string]struct{ old, new, want string }{
		"everything":                        {},
		"no ConfigMap":                      {"[{name: settings}]", "[]", "spec.configMaps"},
		"a ConfigMap twice":                 {"[{name: settings}]", "[{name: a}, {name: a}]", "spec.configMaps[1]: Duplicate value"},
		"no name of a ConfigMap":            {"[{name: settings}]", "[{name: Settings}]", "spec.configMaps[0].name"},
		"a name that Kubernetes publishes":  {"[{name: settings}]", "[{name: kube-root-ca.crt}]", "the add-on never copies a ConfigMap of this name"},
		"a name that OpenShift publishes":   {"[{name: settings}]", "[{name: openshift-service-ca.crt}]", "the add-on never copies"},
		"the agent's marker":                {"[{name: settings}]", "[{name: helloworld-agent-uninstall}]", "the add-on never copies"},
		"a value from two sources":          {"label: region,", "label: region, claim: region,", "exactly one of label, claim and expression"},
		"a value without a source":          {"claim: kubeversion.open-cluster-management.io", "default: x", "exactly one of label, claim and expression"},
		"an expression with a default":      {"'.example.com'\"", "'.example.com'\", default: x", "an expression has no default"},
		"a value that $(NAME) cannot name":  {"name: REGION", "name: a-b", "spec.values[0].name"},
		"no Placement":                      {placements, "  placementRefs: []\n", "spec.placementRefs"},
		"a Placement twice":                 {"name: canary", "name: production", "spec.placementRefs[1]: Duplicate value"},
		"a negative history":                {"  values:", "  revisionHistoryLimit: -1\n  values:", "spec.revisionHistoryLimit"},
		"another deletion policy":           {"  values:", "  deletionPolicy: Forget\n  values:", "spec.deletionPolicy"},
		"a type of rollout that is unknown": {"type: ProgressivePerGroup", "type: Random", "rolloutStrategy.type"},
		"a number of failures that is none": {"maxFailures: 2", "maxFailures: some", "maxFailures"},
	} {
		t.Run(name, func(t *testing.T) {
			text := whole
			if test.old != "" {
				if !strings.Contains(whole, test.old) {
					t.Fatalf("the object has no %q", test.old)
				}
				text = strings.Replace(whole, test.old, test.new, 1)
			}
			expect(t, admit(t, "configmapreplicasets", text), test.want)
		})
	}
}

func expect(t *testing.T, errs field.ErrorList, want string) {
	t.Helper()
	switch {
	case want == "" && len(errs) > 0:
		t.Error(errs.ToAggregate())
	case want != "" && (len(errs) == 0 || !strings.Contains(errs.ToAggregate().Error(), want)):
		t.Errorf("problems %v, want one with %q", errs, want)
	}
}

// TestReplicaSetExample: the API server accepts the set of the example.
func TestReplicaSetExample(t *testing.T) {
	content, err := os.ReadFile("../../deploy/example/replicaset.yaml")
	if err != nil {
		t.Fatal(err)
	}
	documents := strings.Split(string(content), "\n---\n")
	expect(t, admit(t, "configmapreplicasets", documents[len(documents)-1]), "")
}

const mirror = `
apiVersion: helloworld.open-cluster-management.io/v1alpha1
kind: ConfigMapMirror
metadata: {name: helloworld, namespace: cluster1, creationTimestamp: null}
status:
  total: 3
  synced: 1
  configMaps:
  - {name: settings, state: Conflict, message: not the agent's, since: "2026-11-23T12:00:00Z"}
  - {name: tls, state: Failed, since: "2026-11-23T12:00:00Z"}
  - {name: app, revision: 5d8f9c7b6, state: Synced, since: "2026-11-23T12:00:00Z"}
`

func TestMirrorValidation(t *testing.T) {
	for name, test := range map[string]struct{ old, new, want string }{
		"everything":         {},
		"an unknown state":   {"state: Synced", "state: Done", "status.configMaps[2].state"},
		"a name twice":       {"name: tls", "name: app", "Duplicate value"},
		"a time that is not": {`since: "2026-11-23T12:00:00Z"`, "since: noon", "status.configMaps[0].since"},
		"a long revision":    {"5d8f9c7b6", strings.Repeat("x", 64), "status.configMaps[2].revision"},
		"a long message":     {"not the agent's", strings.Repeat("x", 257), "status.configMaps[0].message"},
	} {
		t.Run(name, func(t *testing.T) {
			expect(t, admit(t, "configmapmirrors", strings.Replace(mirror, test.old, test.new, 1)), test.want)
		})
	}
}

// TestMirrorColumns: `kubectl get configmapmirrors` shows the counts, and of the ConfigMaps that
// are not synced the first. The API server prints one result of a column's path.
func TestMirrorColumns(t *testing.T) {
	crd, _ := readCRD(t, "configmapmirrors")
	convertor, err := tableconvertor.New(crd.Spec.Versions[0].AdditionalPrinterColumns)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		text string
		want []any
	}{
		"two are not synced": {mirror, []any{"helloworld", int64(1), int64(3), "settings", "Conflict"}},
		"all are synced": {strings.NewReplacer("state: Conflict", "state: Synced", "state: Failed", "state: Synced").Replace(mirror),
			[]any{"helloworld", int64(1), int64(3), nil, nil}},
		"no report yet": {mirror[:strings.Index(mirror, "status:")], []any{"helloworld", nil, nil, nil, nil}},
	} {
		t.Run(name, func(t *testing.T) {
			object := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(test.text), object); err != nil {
				t.Fatal(err)
			}
			table, err := convertor.ConvertToTable(t.Context(), object, nil)
			if err != nil {
				t.Fatal(err)
			}
			cells := table.Rows[0].Cells
			if diff := cmp.Diff(test.want, cells[:len(cells)-1]); diff != "" { // without the age
				t.Errorf("cells (-want +got):\n%s", diff)
			}
		})
	}
}

// TestSetColumns: `kubectl get cmrs` shows zeros where no cluster is selected.
func TestSetColumns(t *testing.T) {
	crd, _ := readCRD(t, "configmapreplicasets")
	convertor, err := tableconvertor.New(crd.Spec.Versions[0].AdditionalPrinterColumns)
	if err != nil {
		t.Fatal(err)
	}
	set := &ConfigMapReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "settings"}, Status: ConfigMapReplicaSetStatus{ObservedGeneration: 1}}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(set)
	if err != nil {
		t.Fatal(err)
	}
	table, err := convertor.ConvertToTable(t.Context(), &unstructured.Unstructured{Object: content}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]any{"settings", int64(0), int64(0), int64(0), int64(0), int64(0)}, table.Rows[0].Cells[:6]); diff != "" {
		t.Errorf("cells (-want +got):\n%s", diff)
	}
}

// TestScheme: the types are registered, each with its list.
func TestScheme(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"ConfigMapReplicaSet", "ConfigMapReplicaSetList", "ConfigMapMirror", "ConfigMapMirrorList"} {
		if !scheme.Recognizes(GroupVersion.WithKind(kind)) {
			t.Errorf("the scheme does not know %s", kind)
		}
	}
}
