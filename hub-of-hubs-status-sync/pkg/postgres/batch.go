package postgres

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"open-cluster-management.io/helloworld-addon/hub-of-hubs-status-sync/pkg/status"
)

// maxName is the length of the columns for names of leaf hubs and clusters, in characters.
const maxName = 63

// complianceColumns holds rows of status.compliance, column by column, ordered by policy and cluster. Two writers that
// lock rows in the same order cannot deadlock.
type complianceColumns struct {
	ids, clusters, errors, compliance []string
}

// objectColumns holds rows of one table of payloads, ordered by namespace and name.
type objectColumns struct {
	ids, namespaces, names, payloads, errors []string
}

// prepared is a batch of valid entries, each row once.
type prepared struct {
	complete   []string
	compliance complianceColumns
	// objects and removed are keyed by table.
	objects, removed map[string]objectColumns
	rejected         []status.Rejection
	// badPolicies holds the invalid policy ids. Each is rejected once.
	badPolicies map[string]bool
}

// prepare validates a batch entry by entry. Of several entries about the same row the last counts.
func prepare(batch status.Batch) prepared {
	p := prepared{objects: map[string]objectColumns{}, removed: map[string]objectColumns{}, badPolicies: map[string]bool{}}
	for _, id := range batch.CompletePolicies {
		if id = strings.ToLower(id); p.takesPolicy(id) {
			p.complete = append(p.complete, id)
		}
	}
	slices.Sort(p.complete)
	p.complete = slices.Compact(p.complete)
	p.prepareCompliance(batch.Compliance)
	p.prepareObjects(batch)
	return p
}

func (p *prepared) reject(entry, reason string) {
	p.rejected = append(p.rejected, status.Rejection{Entry: entry, Reason: reason})
}

// takesPolicy reports whether a policy's id is valid. An invalid id is rejected once, not once for each cluster.
func (p *prepared) takesPolicy(id string) bool {
	if uuidForm.MatchString(id) {
		return true
	}
	if !p.badPolicies[id] {
		p.badPolicies[id] = true
		p.reject(fmt.Sprintf("Policy %q", id), "the id is no uuid")
	}
	return false
}

func (p *prepared) prepareCompliance(entries []status.ComplianceEntry) {
	type row struct{ id, cluster string }
	last := make(map[row]int, len(entries))
	for i, entry := range entries {
		id := strings.ToLower(entry.PolicyID)
		if !p.takesPolicy(id) {
			continue
		}
		if reason := complianceProblem(entry); reason != "" {
			p.reject(fmt.Sprintf("Policy %q on cluster %q", entry.PolicyID, entry.Cluster), reason)
			continue
		}
		last[row{id, entry.Cluster}] = i
	}
	rows := make([]row, 0, len(last))
	for key := range last {
		rows = append(rows, key)
	}
	slices.SortFunc(rows, func(a, b row) int {
		if a.id != b.id {
			return strings.Compare(a.id, b.id)
		}
		return strings.Compare(a.cluster, b.cluster)
	})
	for _, key := range rows {
		entry := entries[last[key]]
		p.compliance.ids = append(p.compliance.ids, key.id)
		p.compliance.clusters = append(p.compliance.clusters, key.cluster)
		p.compliance.errors = append(p.compliance.errors, orNone(entry.Error))
		p.compliance.compliance = append(p.compliance.compliance, entry.Compliance)
	}
}

func complianceProblem(entry status.ComplianceEntry) string {
	switch {
	case nameProblem(entry.Cluster) != "":
		return "the cluster's name " + nameProblem(entry.Cluster)
	case !slices.Contains([]string{"compliant", "non_compliant", "unknown"}, entry.Compliance):
		return fmt.Sprintf("the compliance %q is none of compliant, non_compliant, unknown", entry.Compliance)
	}
	return errorProblem(entry.Error)
}

func (p *prepared) prepareObjects(batch status.Batch) {
	last := map[status.ObjectRef]*status.ObjectEntry{}
	for i := range batch.Objects {
		entry := &batch.Objects[i]
		ref, reason := refOf(entry)
		if reason != "" {
			p.reject(fmt.Sprintf("%s %s/%s", entry.Kind, ref.Namespace, ref.Name), reason)
			continue
		}
		last[ref] = entry
	}
	refs := make([]status.ObjectRef, 0, len(last)+len(batch.Removed))
	for ref := range last {
		refs = append(refs, ref)
	}
	for _, ref := range batch.Removed {
		if reportedTable(ref.Kind) == "" {
			p.reject(fmt.Sprintf("%s %s/%s", ref.Kind, ref.Namespace, ref.Name), "a leaf hub does not report this kind")
		} else if last[ref] == nil {
			last[ref] = nil
			refs = append(refs, ref)
		}
	}
	slices.SortFunc(refs, compareRefs)
	for _, ref := range slices.Compact(refs) {
		p.add(ref, last[ref])
	}
}

func compareRefs(a, b status.ObjectRef) int {
	return slices.Compare([]string{string(a.Kind), a.Namespace, a.Name}, []string{string(b.Kind), b.Namespace, b.Name})
}

// add adds a row, or without an entry the removal of one.
func (p *prepared) add(ref status.ObjectRef, entry *status.ObjectEntry) {
	table := reportedTable(ref.Kind)
	into := p.objects
	if entry == nil {
		into = p.removed
	}
	columns := into[table]
	columns.namespaces = append(columns.namespaces, ref.Namespace)
	columns.names = append(columns.names, ref.Name)
	if entry != nil {
		columns.ids = append(columns.ids, strings.ToLower(entry.ID))
		columns.payloads = append(columns.payloads, string(entry.Payload))
		columns.errors = append(columns.errors, orNone(entry.Error))
	}
	into[table] = columns
}

// refOf returns the object of an entry, and the reason if the entry is invalid.
func refOf(entry *status.ObjectEntry) (status.ObjectRef, string) {
	ref := status.ObjectRef{Kind: entry.Kind}
	if reportedTable(entry.Kind) == "" {
		return ref, "a leaf hub does not report this kind"
	}
	var object struct {
		Metadata struct{ Namespace, Name string }
	}
	if err := json.Unmarshal(entry.Payload, &object); err != nil {
		return ref, "the payload is no JSON object with metadata: " + err.Error()
	}
	ref.Namespace, ref.Name = object.Metadata.Namespace, object.Metadata.Name
	switch {
	case ref.Name == "":
		return ref, "the payload has no name"
	case entry.Kind == status.KindManagedCluster:
		ref.Namespace = ""
		return ref, errorProblem(entry.Error)
	case ref.Namespace == "":
		return ref, "the payload has no namespace"
	case !uuidForm.MatchString(strings.ToLower(entry.ID)):
		return ref, fmt.Sprintf("the id %q is no uuid", entry.ID)
	}
	return ref, ""
}

// nameProblem returns why a name does not fit its column, or nothing.
func nameProblem(name string) string {
	switch {
	case name == "":
		return "is empty"
	case utf8.RuneCountInString(name) > maxName:
		return fmt.Sprintf("is longer than %d characters", maxName)
	case !utf8.ValidString(name) || strings.ContainsRune(name, 0):
		return "is not valid text"
	}
	return ""
}

func errorProblem(value string) string {
	if !slices.Contains([]string{"none", "disconnected"}, orNone(value)) {
		return fmt.Sprintf("the error %q is none of none, disconnected", value)
	}
	return ""
}

func orNone(value string) string {
	if value == "" {
		return "none"
	}
	return value
}

// rows returns the number of rows.
func (c complianceColumns) rows() int { return len(c.ids) }

// rows returns the number of rows.
func (c objectColumns) rows() int { return len(c.names) }

// row returns row i as columns of one row.
func (c objectColumns) row(i int) objectColumns {
	return objectColumns{
		ids: c.ids[i : i+1], namespaces: c.namespaces[i : i+1], names: c.names[i : i+1],
		payloads: c.payloads[i : i+1], errors: c.errors[i : i+1],
	}
}
