// Package unpack puts images of archives and registries into a sandbox's store, for its
// containers to run: their layers become one directory, and their configuration goes with it.
//
// Nothing in an image is trusted. Whatever its names and links say, files are written below
// the image's own directory alone. Sizes and numbers are limited. A failed load leaves
// nothing behind. Each layer must have the digest that the image's configuration names.
//
// It leaves out device files and FIFOs, since a container has its own /dev, the setuid and
// setgid bits, since its programs cannot gain rights, and extended attributes. Only root can
// keep the files' owners; otherwise they belong to the caller, as whom containers run then.
// A container's image root is read-only, so declared volumes with content are, too. An
// image's stop signal and health check have no effect.
package unpack
