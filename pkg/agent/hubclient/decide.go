package hubclient

// Decision is what to do about the credentials that are in the secret now.
type Decision string

const (
	// Keep what is in use, be it nothing.
	Keep Decision = "Keep"
	// Connect: there is no connection yet, or the hub is another one; the old
	// connection has to end.
	Connect Decision = "Connect"
	// Rotate: the same hub, another certificate: the connection stays.
	Rotate Decision = "Rotate"
)

// Decide compares the credentials in use, nil for none, with those that were
// loaded, nil where they are bad.
func Decide(inUse, loaded *Credentials) Decision {
	switch {
	case loaded == nil:
		return Keep
	case inUse == nil || !inUse.Endpoint.equal(loaded.Endpoint):
		return Connect
	case !inUse.sameCertificate(loaded):
		return Rotate
	default:
		return Keep
	}
}
