module open-cluster-management.io/helloworld-addon/test/shell

go 1.26.0

require mvdan.cc/sh/v3 v3.12.0

require (
	golang.org/x/sys v0.33.0 // indirect
	golang.org/x/term v0.32.0 // indirect
)
