// Package procfs finds a program that runs in a sandbox among the processes of
// this machine, and reads what it uses from /proc. It starts and stops nothing.
package procfs
