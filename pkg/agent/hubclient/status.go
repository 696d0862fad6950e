package hubclient

import (
	"errors"
	"fmt"
	"time"
)

// Status is what there is to say about the credentials.
type Status struct {
	// Source names where they come from.
	Source string
	// Server is the hub that is connected to with them, empty while there is
	// none.
	Server string
	// NotAfter is when those in use expire; zero where that is not known.
	NotAfter time.Time
	// Since is when those in use came into use.
	Since time.Time
	// Problem is what is wrong with those that are there now, nil where
	// nothing is. Others may be in use all the same, the last good ones.
	Problem *BadCredentials
}

// Connected says whether there are credentials in use.
func (s Status) Connected() bool { return s.Server != "" }

// Ready says why there are no credentials to connect with, or nil.
func (s Status) Ready(now time.Time) error {
	switch {
	case !s.Connected() && s.Problem != nil:
		return fmt.Errorf("%s: %w", s.Source, s.Problem)
	case !s.Connected():
		return errors.New(s.Source + ": not read yet")
	case !s.NotAfter.IsZero() && !now.Before(s.NotAfter) && s.Problem != nil:
		return fmt.Errorf("the credentials in use expired at %s, and %s has no better ones: %w",
			stamp(s.NotAfter), s.Source, s.Problem)
	case !s.NotAfter.IsZero() && !now.Before(s.NotAfter):
		return fmt.Errorf("the credentials in use expired at %s, and %s has no better ones", stamp(s.NotAfter), s.Source)
	default:
		return nil
	}
}

// Warning says what is wrong while the last good credentials are in use; empty:
// nothing is.
func (s Status) Warning() string {
	if s.Problem == nil || !s.Connected() {
		return ""
	}
	until := ""
	if !s.NotAfter.IsZero() {
		until = " until " + stamp(s.NotAfter)
	}
	return fmt.Sprintf("%s cannot be used, the last good credentials stay in use%s: %s", s.Source, until, s.Problem)
}

// Detail says, for a person, what is in use.
func (s Status) Detail() string {
	if !s.Connected() {
		return ""
	}
	detail := s.Server
	if !s.NotAfter.IsZero() {
		detail += " until " + stamp(s.NotAfter)
	}
	if warning := s.Warning(); warning != "" {
		detail += "; " + warning
	}
	return detail
}
