package report

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
)

// The version of Report and its kind, as in objects of Kubernetes. docs/kubectl.md#json-and-yaml promises what a
// version keeps.
const (
	APIVersion = "status.helloworld.open-cluster-management.io/v1alpha1"
	Kind       = "FleetStatus"
)

// Report is how the add-on is on every cluster.
type Report struct {
	metav1.TypeMeta `json:",inline"`
	// Time is when the hub was asked, by the caller's clock.
	Time metav1.Time `json:"time"`
	// Well reports whether every enabled add-on is well, as far as the hub could be read.
	Well     bool      `json:"well"`
	Totals   Totals    `json:"totals"`
	Clusters []Row     `json:"clusters"`
	NotRead  []NotRead `json:"notRead,omitempty"`
}

// NotRead is a resource that could not be read.
type NotRead struct {
	Resource string `json:"resource"`
	Error    string `json:"error"`
	// Stale reports whether the report has what was read of it before.
	Stale bool `json:"stale,omitempty"`
}

// Totals counts clusters and ConfigMaps.
type Totals struct {
	Clusters int `json:"clusters"`
	// Enabled is how many of them have the add-on, NotWell how many of those are not well.
	Enabled int `json:"enabled"`
	NotWell int `json:"notWell"`
	// States is how many clusters are in each state.
	States     map[State]int `json:"states"`
	ConfigMaps SyncedCount   `json:"configMaps"`
}

// SyncedCount is how many ConfigMaps of all clusters are synced.
type SyncedCount struct {
	Total  int `json:"total"`
	Synced int `json:"synced"`
}

// Row is how the add-on is on one cluster.
type Row struct {
	Name string `json:"name"`
	// State is the worst that is known of the add-on. Well reports whether that is no fault.
	State State `json:"state"`
	Well  bool  `json:"well"`
	// Since is when the cluster got into the state, if that is known.
	Since *metav1.Time `json:"since,omitempty"`
	// Message tells why.
	Message string `json:"message,omitempty"`
	Enabled bool   `json:"enabled"`
	// Available is the status of the add-on's condition Available: True, False, or Unknown; empty where the
	// condition is not there.
	Available  metav1.ConditionStatus `json:"available,omitempty"`
	ConfigMaps *ConfigMaps            `json:"configMaps,omitempty"`
	Agent      *Image                 `json:"agent,omitempty"`
	// CredentialsExpire is when the agent's certificate or token for the hub expires, if that is known.
	CredentialsExpire *metav1.Time `json:"credentialsExpire,omitempty"`
}

// Image is what the agent runs from.
type Image struct {
	// Version is the tag of the image, or else the beginning of its digest.
	Version string `json:"version"`
	Image   string `json:"image"`
	// Running reports whether the cluster has reported that the agent is rolled out. Otherwise the agent may
	// run from another image, or not run.
	Running bool `json:"running"`
}

// New returns the report, with the worst clusters first.
func New(in Input) *Report {
	r := &Report{
		TypeMeta: metav1.TypeMeta{APIVersion: APIVersion, Kind: Kind}, Time: metav1.NewTime(in.Now),
		Clusters: make([]Row, 0, len(in.Clusters)), NotRead: in.NotRead, Totals: Totals{States: map[State]int{}},
	}
	for _, f := range in.Clusters {
		row := rowOf(f, in)
		r.Clusters = append(r.Clusters, row)
		r.Totals.add(row)
	}
	r.Well = r.Totals.NotWell == 0 && in.AddOnsRead
	slices.SortFunc(r.Clusters, Compare)
	return r
}

// Compare orders rows: the worst state first, then the lesser share of synced ConfigMaps, then by name.
func Compare(a, b Row) int {
	return cmp.Or(
		cmp.Compare(slices.Index(States, a.State), slices.Index(States, b.State)),
		cmp.Compare(a.share(), b.share()),
		cmp.Compare(a.Name, b.Name),
	)
}

// share is the share of the ConfigMaps that are synced. A cluster that reports none comes first.
func (r Row) share() float64 {
	switch {
	case r.ConfigMaps == nil:
		return -1
	case r.ConfigMaps.Total == 0:
		return 1
	default:
		return float64(r.ConfigMaps.Synced) / float64(r.ConfigMaps.Total)
	}
}

func (t *Totals) add(r Row) {
	t.Clusters++
	t.States[r.State]++
	if r.Enabled {
		t.Enabled++
		if !r.Well {
			t.NotWell++
		}
	}
	if r.ConfigMaps != nil {
		t.ConfigMaps.Total += r.ConfigMaps.Total
		t.ConfigMaps.Synced += r.ConfigMaps.Synced
	}
}

func rowOf(f Facts, in Input) Row {
	s := subject{Facts: f, clustersRead: in.ClustersRead, now: in.Now}
	row := Row{Name: f.Name, ConfigMaps: configMapsOf(f)}
	if f.AddOn != nil {
		s.expires = Expiry(f.AddOn.Conditions)
		row.Enabled, row.CredentialsExpire = f.AddOn.Deleted == nil, s.expires
		if c := meta.FindStatusCondition(f.AddOn.Conditions, addonv1beta1.ManagedClusterAddOnConditionAvailable); c != nil {
			row.Available = c.Status
		}
	}
	if f.AddOn != nil || !in.AddOnsRead {
		row.Agent = agentOf(f)
	} else {
		// What a disabled add-on left behind is no longer true.
		row.ConfigMaps = nil
	}
	found := judge(s, in.AddOnsRead)
	row.State, row.Message, row.Well = found.state, found.message, found.state.Health() == Well
	if !found.since.IsZero() {
		row.Since = &found.since
	}
	return row
}

// agentOf returns what the agent runs from, or nil if that is not known. A ManifestWork in another namespace is the
// add-on's only if the add-on is hosted there.
func agentOf(f Facts) *Image {
	if f.Agent == nil || f.Agent.Image == "" || f.Agent.Work != f.Name && (f.AddOn == nil || f.Agent.Work != f.AddOn.HostingCluster) {
		return nil
	}
	return &Image{Version: versionOf(f.Agent.Image), Image: f.Agent.Image, Running: f.Agent.Running}
}

// versionOf returns the tag of an image, or else the beginning of its digest, or else latest. For example,
// localhost:5000/addon:v1@sha256:… has the version v1.
func versionOf(image string) string {
	const digestLength = len("sha256:") + 12
	image, digest, _ := strings.Cut(image, "@")
	if colon := strings.LastIndex(image, ":"); colon > strings.LastIndex(image, "/") {
		return image[colon+1:]
	}
	if digest != "" {
		return digest[:min(len(digest), digestLength)]
	}
	return "latest"
}
