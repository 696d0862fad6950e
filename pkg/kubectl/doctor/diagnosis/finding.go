package diagnosis

import (
	"cmp"
	"slices"
	"strings"

	"open-cluster-management.io/helloworld-addon/pkg/kubectl/doctor/registration"
)

// Reason is the stable name of what is wrong.
type Reason string

// Finding is something that is not as it should be.
type Finding struct {
	Reason Reason `json:"reason"`
	// Message has the object, what is wrong with it, and why if that is known.
	Message string `json:"message"`
	// Do is what a person has to do, in this order. It is empty if that is nothing but to wait, or to repair the cause.
	Do []registration.Step `json:"do,omitempty"`
	// Page is the page of the documentation, with an anchor.
	Page string `json:"page,omitempty"`
	// Consequences are findings that this one explains.
	Consequences []Finding `json:"consequences,omitempty"`
}

// link is a part of the chain on which a copy depends.
type link int

const (
	hubLink link = iota
	clusterLink
	enabledLink
	shippedLink
	credentialsLink
	agentLink
	copiesLink
)

// kind is what is the same for all findings of a reason.
type kind struct {
	reason Reason
	link   link
	// page is empty for pageTable.
	page string
	// own reports whether it is a cause of its own, whatever else is wrong.
	own bool
	// aside reports whether it explains nothing else.
	aside bool
	// advice reports whether the add-on works with it.
	advice bool
}

// explains reports whether a explains b, which comes later: a link that is broken breaks those after it. The hub and the
// cluster do not depend on each other. Within a link, kinds has the earlier cause first.
func explains(a, b kind) bool {
	return !a.aside && !a.advice && !b.own && !(a.link == hubLink && b.link == clusterLink)
}

// Diagnosis is what Examine finds.
type Diagnosis struct {
	Cluster string `json:"cluster"`
	// Well reports whether the add-on works, as far as is known. There may be findings that are advice.
	Well bool `json:"well"`
	// Findings are the causes. The first is the one to repair first.
	Findings []Finding `json:"findings,omitempty"`
	// Registration is the verdict on OCM's registration agent, where the managed cluster was read.
	Registration *registration.Verdict `json:"registration,omitempty"`
	// NotRead is what could not be read, and is therefore not judged.
	NotRead []NotRead `json:"notRead,omitempty"`
}

// Examine returns what is wrong with the add-on on a cluster. Without a cluster in the facts, it looks at the hub alone.
func Examine(facts Facts) Diagnosis {
	e := &examination{Facts: facts}
	rules := hubRules
	if e.Cluster != "" {
		rules = slices.Concat(hubRules, clusterRules)
	}
	for _, rule := range rules {
		rule(e)
	}
	d := Diagnosis{Cluster: e.Cluster, Findings: ordered(e.found), NotRead: e.NotRead, Registration: e.verdict}
	d.Well = !slices.ContainsFunc(d.Findings, func(f Finding) bool { return !kindOf(f.Reason).advice })
	return d
}

// examination collects the findings of the rules.
type examination struct {
	Facts
	found   []Finding
	verdict *registration.Verdict
}

// add records a finding. A reason is recorded once.
func (e *examination) add(reason Reason, message string, do ...registration.Step) {
	if e.has(reason) {
		return
	}
	page := kindOf(reason).page
	e.found = append(e.found, Finding{Reason: reason, Message: strings.TrimSpace(message), Do: do, Page: cmp.Or(page, pageTable)})
}

// has reports whether one of the reasons was found.
func (e *examination) has(reasons ...Reason) bool {
	return slices.ContainsFunc(e.found, func(f Finding) bool { return slices.Contains(reasons, f.Reason) })
}

// broken reports whether one of the links is broken, and not only something to be advised about.
func (e *examination) broken(links ...link) bool {
	return slices.ContainsFunc(e.found, func(f Finding) bool {
		k := kindOf(f.Reason)
		return !k.aside && !k.advice && slices.Contains(links, k.link)
	})
}

// ordered returns the causes, each with its consequences.
func ordered(found []Finding) []Finding {
	slices.SortStableFunc(found, func(a, b Finding) int { return cmp.Compare(indexOf(a.Reason), indexOf(b.Reason)) })
	var causes []Finding
	for _, f := range found {
		i := slices.IndexFunc(causes, func(cause Finding) bool { return explains(kindOf(cause.Reason), kindOf(f.Reason)) })
		if i < 0 {
			causes = append(causes, f)
			continue
		}
		causes[i].Consequences = append(causes[i].Consequences, f)
	}
	return causes
}

func indexOf(reason Reason) int {
	return slices.IndexFunc(kinds, func(k kind) bool { return k.reason == reason })
}

func kindOf(reason Reason) kind {
	if i := indexOf(reason); i >= 0 {
		return kinds[i]
	}
	return kind{reason: reason}
}

func step(text string, command string) registration.Step {
	return registration.Step{Text: text, Command: command}
}
