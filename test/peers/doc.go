// Package peers runs other people's add-ons on the sandbox: their unmodified sources from the Go module proxy, installed as
// their own Makefiles and workflows do, and their own end-to-end suites. go.mod pins their versions.
//
// It does not judge the add-ons: a suite that fails here may fail elsewhere too.
package peers
