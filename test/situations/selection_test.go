//go:build situations && !long

package situations

// further is for the tag long.
var further []situation
