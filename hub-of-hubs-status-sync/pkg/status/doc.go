// Package status computes the status of an object on the global hub from the
// rows of all leaf hubs, and declares the interfaces of the database.
//
//	kind                 rows                      aggregate
//	Policy               a row for each cluster    every cluster's compliance, and the worst
//	PlacementRule        an object for each hub    all decisions
//	Placement            an object for each hub    the sum of clusters, groups by name, the worst conditions
//	PlacementDecision    objects of each hub       all decisions, 100 per object
//	SubscriptionStatus   an object for each hub    all statuses, Failed if one is
//	SubscriptionReport   an object for each hub    the sums, and all results
//	AddOnSummary         equal add-ons, counted    the sums, of all hubs and of each
//
// Entries has one entry for each kind. The aggregates are pure: the same rows
// give the same status in any order of the rows. Package syncer writes the
// result to the global hub, package reporter writes the rows of a leaf hub, and
// package postgres implements the interfaces.
package status
