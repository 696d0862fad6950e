package view

import "regexp"

// ownAddress is how an error of the network names the agent's own end of a
// connection (net.OpError).
var ownAddress = regexp.MustCompile(`\S*:\d+->`)

// Steady is err with a message that stays the same as long as the cause does:
// without the agent's own port, which is another one for each connection. What is
// told only when it changes would else be told for each request.
func Steady(err error) error {
	if err == nil {
		return nil
	}
	message := err.Error()
	if steady := ownAddress.ReplaceAllLiteralString(message, ""); steady != message {
		return &steadyError{message: steady, err: err}
	}
	return err
}

type steadyError struct {
	message string
	err     error
}

func (e *steadyError) Error() string { return e.message }

func (e *steadyError) Unwrap() error { return e.err }
