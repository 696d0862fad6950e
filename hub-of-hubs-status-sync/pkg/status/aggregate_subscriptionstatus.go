package status

import (
	"cmp"
	"encoding/json"
)

// Phases of packages and subscriptions; unknown is the empty string.
const (
	phaseDeployed          = "Deployed"
	phaseFailed            = "Failed"
	phasePropagationFailed = "PropagationFailed"
	phaseUnknown           = ""
)

// noTime is written where a leaf hub has no time.
const noTime = "1970-01-01T00:00:00Z"

// subscriptionStatus is what matters of a SubscriptionStatus on a leaf hub.
type subscriptionStatus struct {
	Statuses struct {
		Packages     []unitStatus `json:"packages"`
		Subscription *struct {
			Phase          string `json:"phase"`
			Message        string `json:"message"`
			LastUpdateTime string `json:"lastUpdateTime"`
		} `json:"subscription"`
	} `json:"statuses"`
}

// unitStatus is the status of one package on one cluster.
type unitStatus struct {
	APIVersion     string `json:"apiVersion,omitempty"`
	Kind           string `json:"kind,omitempty"`
	Name           string `json:"name,omitempty"`
	Namespace      string `json:"namespace,omitempty"`
	Phase          string `json:"phase,omitempty"`
	Message        string `json:"message,omitempty"`
	LastUpdateTime string `json:"lastUpdateTime"`

	hub string
}

// aggregateSubscriptionStatus makes the SubscriptionStatus of a Subscription:
// `.statuses.packages`, those of all hubs and clusters, sorted, and
// `.statuses.subscription`, Failed if one is, else unknown if one is unknown,
// else Deployed, with the messages of those that are not Deployed. What a stale
// hub calls Deployed is unknown.
//
// When not all packages fit, failed ones are listed first, then unknown ones;
// the annotation AnnotationSummarised has the numbers.
func aggregateSubscriptionStatus(rows Rows, budget int) ([]Desired, error) {
	all, err := decodeAll[subscriptionStatus](rows)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	var packages []unitStatus
	for _, row := range all {
		for _, unit := range row.object.Statuses.Packages {
			unit.hub = row.hub
			// The field is required.
			unit.LastUpdateTime = cmp.Or(unit.LastUpdateTime, noTime)
			if row.stale && unit.Phase == phaseDeployed {
				unit.Phase = phaseUnknown
			}
			packages = append(packages, unit)
		}
	}
	listed := unitListing.fit(packages, budget)
	summarised := leftOut(len(listed), len(packages), "packages")
	fields := append([]Field{{Path: []string{"statuses", "packages"}}}, overallPhase(all)...)
	if len(listed) > 0 {
		fields[0].Value = unitEntries(listed)
	}
	return []Desired{{
		Name: rows.Name, Labels: hostingSubscription(rows), Annotations: annotations(staleHubs(all), summarised),
		Fields: fields, Summarised: summarised,
	}}, nil
}

// unitListing lists packages by namespace, kind, name and hub, failed ones
// before unknown ones.
var unitListing = listing[unitStatus]{
	compare: func(a, b unitStatus) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name),
			cmp.Compare(a.APIVersion, b.APIVersion), cmp.Compare(a.hub, b.hub), cmp.Compare(a.Phase, b.Phase),
			cmp.Compare(a.LastUpdateTime, b.LastUpdateTime), cmp.Compare(a.Message, b.Message))
	},
	rank: phaseUrgency,
	size: unitSize,
}

func phaseUrgency(unit unitStatus) int {
	switch unit.Phase {
	case phaseFailed:
		return 0
	case phasePropagationFailed:
		return 1
	case phaseDeployed:
		return 3
	default:
		return 2
	}
}

func unitSize(unit unitStatus) int {
	text, err := json.Marshal(unit)
	if err != nil { // A struct of strings has no such error.
		return 0
	}
	return len(text) + 1
}

func unitEntries(units []unitStatus) []any {
	entries := make([]any, 0, len(units))
	for _, unit := range units {
		entry := map[string]any{"lastUpdateTime": unit.LastUpdateTime}
		for key, value := range map[string]string{"apiVersion": unit.APIVersion, "kind": unit.Kind, "name": unit.Name,
			"namespace": unit.Namespace, "phase": unit.Phase, "message": unit.Message} {
			if value != "" {
				entry[key] = value
			}
		}
		entries = append(entries, entry)
	}
	return entries
}

// overallPhase makes the fields of `.statuses.subscription`, which have no value
// when no row has one.
func overallPhase(all []decoded[subscriptionStatus]) []Field {
	found, failed, unknown := false, false, false
	var messages []string
	latest := ""
	for _, row := range all {
		overall := row.object.Statuses.Subscription
		if overall == nil {
			continue
		}
		found = true
		message := overall.Message
		switch {
		case overall.Phase == phaseFailed:
			failed = true
		case overall.Phase == phaseDeployed && !row.stale:
			message = ""
		default:
			unknown = true
		}
		if message != "" {
			messages = append(messages, row.hub+": "+message)
		}
		// Times are RFC 3339 in UTC, which sort as texts.
		latest = max(latest, overall.LastUpdateTime)
	}
	// Field by field: what is no longer said has to go.
	fields := []Field{
		{Path: []string{"statuses", "subscription", "lastUpdateTime"}},
		{Path: []string{"statuses", "subscription", "message"}},
		{Path: []string{"statuses", "subscription", "phase"}},
	}
	if latest != "" {
		fields[0].Value = latest
	}
	if len(messages) > 0 {
		fields[1].Value = bounded(messages, "; ")
	}
	switch {
	case failed:
		fields[2].Value = phaseFailed
	case found && !unknown:
		fields[2].Value = phaseDeployed
	}
	return fields
}
