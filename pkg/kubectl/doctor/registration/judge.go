package registration

// judge holds the facts in the form that the rules need.
type judge struct {
	Facts
	names      names
	bootstraps []bootstrap
	// hub is nil if the hub kubeconfig is missing or invalid.
	hub *kubeconfig
}

// Judge returns what the registration agent makes of the facts.
func Judge(facts Facts) Verdict {
	facts = facts.withDefaults()
	if facts.Driver != CSR && facts.Driver != Token {
		return facts.notJudged()
	}
	j := &judge{Facts: facts, names: facts.names()}
	for _, b := range facts.Bootstraps {
		j.bootstraps = append(j.bootstraps, j.bootstrap(b))
	}
	return j.verdict()
}

func (j *judge) verdict() Verdict {
	invalid := j.parsed()
	own, chosen := j.own(), j.choose()
	with := own
	if with == nil {
		with = chosen
	}
	v := Verdict{Failed: j.failed(invalid, with)}
	v.Valid = len(v.Failed) == 0 && with != nil && with.config != nil
	if v.Valid {
		v.Overlooked = j.overlooked()
	}
	for _, b := range j.bootstraps {
		if b.flaw != nil {
			v.Bootstraps = append(v.Bootstraps, *b.flaw)
		}
	}
	if chosen != nil && chosen.Exists {
		v.Chosen = chosen.Name
	}
	v.Situation = j.situation(len(v.Failed) == 0, with)
	course := j.course(v, j.failed(invalid, chosen), own, chosen)
	v.Action, v.WillDo = course.action, course.will
	v.Do, v.Page = j.steps(v, course), course.page()
	return v
}

// failed returns the conditions that the hub kubeconfig does not meet. It is compared with
// no bootstrap kubeconfig if there is none that parses.
func (j *judge) failed(invalid *Finding, with *bootstrap) []Finding {
	var failed []Finding
	if name := j.named(); name != nil {
		failed = append(failed, *name)
	}
	switch {
	case invalid != nil:
		failed = append(failed, *invalid)
	case with != nil && with.config != nil:
		failed = append(failed, j.compared(with)...)
	}
	if j.Hub.Exists {
		failed = append(failed, j.credentials()...)
	}
	return failed
}

// situation names the situation. Valid reports whether no condition of the hub kubeconfig
// failed, and with is the bootstrap kubeconfig of its hub, or the one that is chosen.
func (j *judge) situation(valid bool, with *bootstrap) Situation {
	s := Situation{Detached: j.detached(), SeveralHubs: j.SeveralHubs}
	usable := with != nil && with.usable()
	switch {
	case valid && usable:
		s.Number, s.Name = 2, BothValid
	case valid:
		s.Number, s.Name = 3, OnlyHubValid
	case usable || j.anyUsable():
		s.Number, s.Name = 1, NoHubKubeconfig
	default:
		s.Number, s.Name = 4, NeitherValid
	}
	return s
}

func (j *judge) anyUsable() bool {
	for _, b := range j.bootstraps {
		if b.usable() {
			return true
		}
	}
	return false
}
