package memapi

import "testing"

func TestClaims(t *testing.T) {
	for _, test := range []struct {
		claim, image string
		want         bool
	}{
		{"quay.io/a/b:v1", "quay.io/a/b:v1", true},
		{"quay.io/a/b:v1", "quay.io/a/b:v2", false},
		{"quay.io/a/b", "quay.io/a/b:v2", true},
		{"quay.io/a/b", "quay.io/a/b@sha256:01", true},
		{"quay.io/a/b", "quay.io/a/b:v2@sha256:01", true},
		{"quay.io/a/b", "quay.io/a/bc:v2", false},
		{"localhost:5000/b", "localhost:5000/b", true},
		{"localhost", "localhost:5000/b", false},
	} {
		if got := claims(map[string]bool{test.claim: true}, test.image); got != test.want {
			t.Errorf("the claim %s of the image %s: got %t", test.claim, test.image, got)
		}
	}
}
