// Package sandboxtest gives a Go test of an add-on a hub and managed clusters of Open Cluster Management
// (OCM), as envtest gives one an API server. The clusters run real OCM and real pods, without Docker:
//
//	func TestMain(m *testing.M) {
//		sandboxtest.Main(m, sandboxtest.Clusters(2), sandboxtest.Image("example.com/my-addon", sandboxtest.GoMain("../cmd/my-addon")))
//	}
//
//	func TestAddon(t *testing.T) {
//		s := sandboxtest.Shared(t)
//		s.Hub().ApplyFiles(t, "../deploy")
//		s.Enable(t, "my-addon")
//		s.WaitAvailable(t, "my-addon")
//	}
//
// Main and Shared give all tests of a package one sandbox, which starts with the first test that needs
// it. Start gives a test a sandbox of its own. Functions that can fail take the test, and fail it
// with a message that says what to do.
//
// A sandbox ends with its tests, also when their process is killed or panics: no process and no file is
// left. When a test fails, the logs and objects of all clusters are kept before the sandbox ends. The
// output of the test has reports of enabled add-ons, with the pods that are not ready or have restarted and
// the ends of their logs, and then the directory of what is kept.
//
// OCM has its defaults, with two exceptions: its work agents read the status of applied objects every 5
// seconds instead of every minute, and ManifestWorkReplicaSets are enabled.
//
// # Environment
//
//   - OCM_SANDBOX is the program ocm-sandbox. Without it the one in PATH is used; if there is none, it is
//     built from this module's sources into the user's cache directory.
//   - OCM_SANDBOX_USE is the absolute path of a sandbox's directory. Main uses the sandbox that runs
//     there and does not end it. If there is none, Main starts one there and leaves it running, so that
//     the next run of the tests begins at once.
//   - OCM_SANDBOX_KEEP is the directory for the logs and objects of failed tests. Without it they are in
//     the test's artifact directory with go test -artifacts, and otherwise in a new temporary directory.
//   - SANDBOX_PROGRAMS and SANDBOX_MODULE are the directories of the built programs of the control planes
//     and of the Go module that pins them, as the flags --programs and --module of ocm-sandbox.
//
// The package executes the program ocm-sandbox. It is no client library: use Config with client-go or
// with any other client.
package sandboxtest
