package calibrate

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// Request is one request to an API server.
type Request struct {
	// User is who asked, Program the user agent.
	User, Program string
	Verb          string
	// Resource includes the subresource, for example leases or
	// managedclusteraddons/status. It is empty for discovery and the like.
	Resource        string
	Namespace, Name string
	// Code is the HTTP status of the answer.
	Code int
	Time time.Time
}

// event is what is used of a line of the audit log:
// https://kubernetes.io/docs/reference/config-api/apiserver-audit.v1/#audit-k8s-io-v1-Event
type event struct {
	AuditID string `json:"auditID"`
	Verb    string `json:"verb"`
	User    struct {
		Username string `json:"username"`
	} `json:"user"`
	UserAgent string `json:"userAgent"`
	ObjectRef struct {
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
	} `json:"objectRef"`
	ResponseStatus struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
	Received time.Time `json:"requestReceivedTimestamp"`
}

func (e *event) request() Request {
	resource := e.ObjectRef.Resource
	if e.ObjectRef.Subresource != "" {
		resource += "/" + e.ObjectRef.Subresource
	}
	return Request{User: e.User.Username, Program: e.UserAgent, Verb: e.Verb, Resource: resource,
		Namespace: e.ObjectRef.Namespace, Name: e.ObjectRef.Name, Code: e.ResponseStatus.Code, Time: e.Received}
}

// ReadLog reads the requests of an audit log. A watch has a line at its start and another at
// its end, and is one request. A last line that is not written to its end is left out.
func ReadLog(log io.Reader) ([]Request, error) {
	var requests []Request
	seen := map[string]bool{}
	lines := bufio.NewReader(log)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return requests, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read the audit log: %w", err)
		}
		var e event
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("parse a line of the audit log: %w", err)
		}
		if !seen[e.AuditID] {
			seen[e.AuditID] = true
			requests = append(requests, e.request())
		}
	}
}
