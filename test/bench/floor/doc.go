// Package floor is the least that copying ConfigMaps can cost: one bare watch of
// the hub's ConfigMaps and one write per change, by the same verbs as the
// add-on's agent (POST, PUT with uid and resourceVersion, DELETE with both as
// preconditions), 16 at a time, changes of one ConfigMap in their order.
//
// It is a yardstick and no product: it overwrites objects of other owners, repairs
// and reports nothing, and ends on the first error. When it is started again it
// compares both sides once and goes on.
package floor
