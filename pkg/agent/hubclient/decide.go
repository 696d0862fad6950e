package hubclient

// Decision is what to do about the credentials that there are now.
type Decision string

const (
	// Keep what is in use, be it nothing.
	Keep Decision = "Keep"
	// Connect: there is no connection yet, or the hub is another one; the old
	// connection has to end.
	Connect Decision = "Connect"
	// Rotate: the same hub, another certificate or token: the connection stays.
	Rotate Decision = "Rotate"
)

// Decide compares the credentials in use, nil for none, with those that were
// loaded, nil where they are bad. working says that the hub answers on the
// connection and knows who asks. Where it does not, those who use the connection
// are waiting longer and longer before they try again, and a new connection,
// with which all begins anew, is in use at once.
func Decide(inUse, loaded *Credentials, working bool) Decision {
	switch {
	case loaded == nil:
		return Keep
	case inUse == nil || !inUse.Endpoint.equal(loaded.Endpoint):
		return Connect
	case inUse.Login.equal(loaded.Login):
		return Keep
	case !working:
		return Connect
	default:
		return Rotate
	}
}
