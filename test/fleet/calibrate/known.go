package calibrate

import "strings"

// known returns why simulated clusters may differ in a kind of request, empty if they may
// not.
func known(key cell) string {
	if strings.HasSuffix(key.what, conflict) {
		return "two writers were there at once; the programs are the same, but a real cluster answers later"
	}
	return ""
}

// conflict is the end of a kind of request that another writer was faster with.
const conflict = ", 409"
