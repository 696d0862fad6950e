package sidecar

import "time"

// Situation is all that counts for whether the lease may be renewed.
type Situation struct {
	// Started is when the program was, Delay for how long it then waits.
	Started time.Time
	Delay   time.Duration
	// Unreadable says why the pod or the secret cannot be read, since
	// UnreadableSince; Unread that one of them never was.
	Unreadable      error
	UnreadableSince time.Time
	Unread          bool
	// Patience is how long what was read last counts for.
	Patience time.Duration
	// Pod is the verdict on the pod, and Credentials the one on the secret.
	Pod, Credentials *Cause
}

// Judge says why the lease must not be renewed at the time now, or nil.
func Judge(s Situation, now time.Time) *Cause {
	switch {
	case now.Sub(s.Started) < s.Delay:
		return &Cause{Starting, "no lease is written for the first " + s.Delay.String()}
	case s.Unreadable != nil && (s.Unread || now.Sub(s.UnreadableSince) > s.Patience):
		return &Cause{ClusterUnreadable, oneLine(s.Unreadable.Error())}
	case s.Unread:
		return &Cause{Starting, "the pod and the secret are not read yet"}
	case s.Credentials != nil:
		return s.Credentials
	default:
		return s.Pod
	}
}
