package kubeclient

import (
	"testing"

	"k8s.io/client-go/rest"
)

// TestClientsShareTheTypes: a scheme takes 100 KB and more, and a process may have
// thousands of clients.
func TestClientsShareTheTypes(t *testing.T) {
	one, err := New(&rest.Config{Host: "https://one"})
	if err != nil {
		t.Fatal(err)
	}
	other, err := New(&rest.Config{Host: "https://other"})
	if err != nil {
		t.Fatal(err)
	}
	if one.parameters != other.parameters {
		t.Error("two clients have a scheme each")
	}
}
