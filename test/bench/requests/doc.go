// Package requests counts what one program asks of an API server, by the API
// server's own account.
//
// Its counters of requests do not say who asked. But API Priority and Fairness
// counts by FlowSchema, and a FlowSchema can be for one user: so the package
// puts FlowSchemas for the program's users into the cluster, one for each kind
// of request, all at the priority level that service accounts have by default,
// and reads their counters. A watch counts once, when it starts.
//
// The numbers are exact, cost the program nothing, and need nothing of it.
package requests
