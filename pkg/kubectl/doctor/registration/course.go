package registration

import (
	"fmt"
	"strings"
	"time"
)

// Anchors of the documentation.
const (
	pageSituations  = "docs/situations.md#the-registration-agents-situations"
	pageKubeconfigs = "docs/situations.md#the-four-kubeconfigs"
	pageDifferences = "docs/situations.md#where-v121-differs-from-its-documentation"
	pageByHand      = "docs/situations.md#what-ocm-does-not-do-by-itself"
)

// course is what the agent does by itself.
type course struct {
	action Action
	will   string
	// cause is why it exits, or nil.
	cause *Finding
}

func (c course) page() string {
	switch c.action {
	case Renews:
		return pageByHand
	case Moves, Waits, PodWaits, Exits:
		return pageDifferences
	default:
		return pageSituations
	}
}

// course returns what the agent does at its next start, in the order in which OCM's
// RunSpokeAgent decides it. Failed are the conditions that the hub kubeconfig does not
// meet beside the chosen bootstrap kubeconfig.
func (j *judge) course(v Verdict, failed []Finding, own, chosen *bootstrap) course {
	good := len(v.Failed) == 0
	switch {
	case len(j.missing()) > 0:
		return j.podWaits(good)
	case !good && v.Failed[0].Condition == NameInvalid:
		return exits(v.Failed[0], "")
	case chosen == nil:
		return exits(v.Bootstraps[0], untilRestart(good))
	case chosen.unreadable:
		return exits(*chosen.flaw, untilRestart(good))
	case good && len(failed) > 0:
		return j.moves(own, chosen)
	case len(failed) == 0:
		return j.continues(v, chosen)
	case j.endsWith(failed[0]):
		return exits(failed[0], "An agent that runs replaces the Secret. ")
	default:
		return j.joins(chosen)
	}
}

// endsWith reports whether OCM's check ends with an error at the condition, and not with
// the answer that the hub kubeconfig is invalid.
func (j *judge) endsWith(failed Finding) bool {
	return failed.Condition == KubeconfigInvalid || failed.Condition == CertificateInvalid && !j.names.given()
}

func exits(cause Finding, running string) course {
	return course{action: Exits, cause: &cause, will: fmt.Sprintf("%sThe agent exits at each start: %s.", running, cause)}
}

// untilRestart describes a running agent where only a bootstrap kubeconfig is at fault.
func untilRestart(good bool) string {
	if !good {
		return ""
	}
	return "An agent that runs continues with the hub kubeconfig until it restarts. "
}

// missing returns the names of the bootstrap kubeconfigs' Secrets that do not exist.
func (j *judge) missing() []string {
	var missing []string
	for _, b := range j.bootstraps {
		if !b.Exists {
			missing = append(missing, b.Name)
		}
	}
	return missing
}

func (j *judge) podWaits(good bool) course {
	running := "A container that restarts in its pod still has the deleted file, and uses it. "
	if good {
		running = "An agent that runs continues with the hub kubeconfig, also when its container restarts in its pod. "
	}
	missing := j.missing()
	until := "the Secret " + missing[0] + " exists"
	if len(missing) > 1 {
		until = "the Secrets " + strings.Join(missing, " and ") + " exist"
	}
	return course{action: PodWaits, will: running + "A new pod of the agent does not start before " + until + "."}
}

func (j *judge) moves(own, chosen *bootstrap) course {
	return course{action: Moves, will: fmt.Sprintf(
		"An agent that runs stays with the hub %s until it restarts. Then it joins the hub %s, the first whose bootstrap kubeconfig works.",
		redacted(own.config.cluster.Server), redacted(chosen.config.cluster.Server))}
}

// continues is the course with a hub kubeconfig that OCM's check finds valid.
func (j *judge) continues(v Verdict, chosen *bootstrap) course {
	for _, o := range v.Overlooked {
		switch o.Condition {
		case ClientInvalid:
			return exits(o, "")
		case CertificateTooEarly:
			return course{action: Stuck, cause: &o, will: "The agent takes the hub kubeconfig for valid, and the hub rejects it. " +
				"It works when the certificate becomes valid."}
		case LoginMissing, KeyMismatch:
			return course{action: Stuck, cause: &o, will: "The agent takes the hub kubeconfig for valid, and cannot connect to the hub with it. " +
				"It does nothing about that."}
		}
	}
	if why := j.request(chosen); why != "" {
		return course{action: Renews, will: fmt.Sprintf("The agent requests a new %s with the hub kubeconfig now, because the %s %s. "+
			"After ten requests on the hub it requests no more.", j.wanted(), j.object(j.Hub), why)}
	}
	return course{action: Works, will: "The agent uses the hub kubeconfig, and " + j.renewal() + "."}
}

// renewal describes when valid credentials are renewed.
func (j *judge) renewal() string {
	if j.Driver == Token {
		found, _ := parseToken(j.Hub.Data[tokenKey])
		return "renews its token at " + at(atShare(found.issued(), found.expires(), renewsAlways))
	}
	found, _ := parseChain(j.Hub.Data[certificateKey])
	before, after := found.notBefore(), found.notAfter()
	return fmt.Sprintf("renews its certificate when 25 to 20 %% of its life are left, between %s and %s",
		at(atShare(before, after, renewsFrom)), at(atShare(before, after, renewsAlways)))
}

// atShare returns when only this part of a life is left.
func atShare(from, to time.Time, part float64) time.Time {
	return to.Add(-time.Duration(part * float64(to.Sub(from))))
}

// joins is the course with a hub kubeconfig that OCM's check finds invalid.
func (j *judge) joins(chosen *bootstrap) course {
	with := fmt.Sprintf("the bootstrap kubeconfig (%s) at the hub %s", j.object(chosen.Secret), redacted(chosen.config.cluster.Server))
	switch {
	case chosen.has(BootstrapInvalid):
		return exits(*chosen.flaw, "")
	case j.request(chosen) == "":
		return course{action: Waits, will: "An agent that runs notices nothing as long as its pod has the files. At its next start it waits " +
			"without an error for a valid hub kubeconfig, and requests none, because OCM takes the certificate or token for good."}
	case !chosen.usable():
		return course{action: Retries, will: fmt.Sprintf("The agent requests a %s with %s again and again, and the hub rejects that.", j.wanted(), with)}
	default:
		return course{action: Joins, will: fmt.Sprintf("An agent that runs replaces the Secret, or its health check restarts it. At its next start "+
			"it requests a %s with %s, and writes the hub kubeconfig when the hub has accepted the cluster and issued it.", j.wanted(), with)}
	}
}

// wanted names what the agent requests.
func (j *judge) wanted() string {
	if j.Driver == Token {
		return "token"
	}
	return "certificate"
}
