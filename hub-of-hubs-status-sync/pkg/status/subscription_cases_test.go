package status

import (
	"fmt"
	"strings"
	"time"
)

func statusesOf(phase, message string, packages ...string) string {
	return fmt.Sprintf(`{"statuses":{"subscription":{"phase":%q,"message":%q,"lastUpdateTime":"2026-01-01T00:00:00Z"},"packages":[%s]}}`,
		phase, message, strings.Join(packages, ","))
}

func unit(name, phase string) string {
	return fmt.Sprintf(`{"apiVersion":"apps/v1","kind":"Deployment","namespace":"app","name":%q,"phase":%q,"lastUpdateTime":"2026-01-01T00:00:00Z"}`, name, phase)
}

var subscriptionStatusCases = []goldenCase{
	{name: "no rows", why: "no row: no object"},
	{name: "two hubs deployed", why: "sorted, and Deployed if all are", rows: Rows{Payloads: []PayloadRow{
		payload("hub2", statusesOf("Deployed", "", unit("web", "Deployed"), unit("db", "Deployed"))),
		payload("hub1", statusesOf("Deployed", "", unit("web", "Deployed")))}}},
	{name: "one failed", why: "Failed if one is, and the message says where", rows: Rows{Payloads: []PayloadRow{
		payload("hub2", statusesOf("Failed", "no quota", unit("web", "Failed"))),
		payload("hub1", statusesOf("Deployed", "all well", unit("web", "Deployed")))}}},
	{name: "one unknown", why: "an unknown one may be anything", rows: Rows{Payloads: []PayloadRow{
		payload("hub2", statusesOf("", "", unit("web", ""))), payload("hub1", statusesOf("Deployed", ""))}}},
	{name: "no overall status", why: "an empty one is left out", rows: Rows{Payloads: []PayloadRow{payload("hub1", `{"statuses":{}}`)}}},
	{name: "no time", why: "the field is required; a hub writes null where it has none", rows: Rows{Payloads: []PayloadRow{
		payload("hub1", `{"statuses":{"packages":[{"name":"web","phase":"PropagationFailed","lastUpdateTime":null},{"name":"db"}]}}`)}}},
	{name: "stale hub", why: "what it calls Deployed is unknown", rows: Rows{Stale: map[string]time.Time{"hub1": since}, Payloads: []PayloadRow{
		payload("hub1", statusesOf("Deployed", "", unit("web", "Deployed")))}}},
	{name: "too large", why: "failed packages stay", budget: 320, rows: Rows{Payloads: []PayloadRow{
		payload("hub1", statusesOf("Failed", "", unit("a", "Deployed"), unit("b", "Deployed"), unit("c", "Failed")))}}},
	{name: "garbage", why: "less than the truth must not be written", rows: Rows{Payloads: []PayloadRow{
		payload("hub1", `{"statuses":{"packages":{}}}`)}}},
}

func reportOf(summary, results string) string {
	return fmt.Sprintf(`{"reportType":"Application","summary":%s,"results":[%s],"resources":[{"kind":"Subscription","name":"thing","namespace":"ns"}]}`, summary, results)
}

func result(source, result string) string {
	return fmt.Sprintf(`{"source":%q,"result":%q,"timestamp":{"seconds":7,"nanos":0}}`, source, result)
}

var subscriptionReportCases = []goldenCase{
	{name: "no rows", why: "no row: no object"},
	{name: "two hubs", why: "sums, and results sorted by source", rows: Rows{Payloads: []PayloadRow{
		payload("hub2", reportOf(`{"clusters":"3","deployed":"2","failed":"1","inProgress":"0","propagationFailed":"0"}`, result("z", "failed")+","+result("a", "deployed"))),
		payload("hub1", reportOf(`{"clusters":"2","deployed":"1","inProgress":"1"}`, result("m", "deployed")))}}},
	{name: "about a cluster", why: "reports of the other type are not about this Subscription", rows: Rows{Payloads: []PayloadRow{
		payload("hub1", `{"reportType":"Cluster","summary":{"clusters":"9"}}`)}}},
	{name: "stale hub", why: "its clusters count, but not as deployed", rows: Rows{Stale: map[string]time.Time{"hub1": since}, Payloads: []PayloadRow{
		payload("hub1", reportOf(`{"clusters":"3","deployed":"2","failed":"1"}`, result("a", "deployed")+","+result("b", "failed"))),
		payload("hub2", reportOf(`{"clusters":"1","deployed":"1"}`, ""))}}},
	{name: "too large", why: "failed results stay, and the sums are of all", budget: 200, rows: Rows{Payloads: []PayloadRow{
		payload("hub1", reportOf(`{"clusters":"3","deployed":"2","failed":"1"}`, result("a", "deployed")+","+result("b", "failed")+","+result("c", "deployed")))}}},
	{name: "below zero", why: "upstream counts in progress what is left of the clusters, and at a bad moment that is less than nothing", rows: Rows{
		Payloads: []PayloadRow{payload("hub1", reportOf(`{"clusters":"1","deployed":"2","inProgress":"-1"}`, "")),
			payload("hub2", reportOf(`{"clusters":"2","inProgress":"2"}`, ""))}}},
	{name: "no number", why: "a sum without one hub would be a lie", rows: Rows{Payloads: []PayloadRow{
		payload("hub1", reportOf(`{"clusters":"three"}`, "")), payload("hub2", reportOf(`{"clusters":"1"}`, ""))}}},
}

func addOn(available, synced, reason string) string {
	return fmt.Sprintf(`{"metadata":{"name":"helloworld"},"status":{"conditions":[{"type":"Available","status":%q},{"type":"ConfigMapsSynced","status":%q,"reason":%q}]}}`,
		available, synced, reason)
}

var addOnCases = []goldenCase{
	{name: "no rows", why: "nothing is enabled anywhere"},
	{name: "two hubs", why: "of all hubs and of each", rows: Rows{Payloads: []PayloadRow{
		payload("hub2", addOn("True", "True", "Synced")), payload("hub1", addOn("True", "False", "Conflict")),
		payload("hub1", addOn("False", "Unknown", "Waiting")), payload("hub1", `{"status":{}}`)}}},
	{name: "failed", why: "not every ConfigMap that is not synced is in conflict", rows: Rows{Payloads: []PayloadRow{
		payload("hub1", addOn("True", "False", "Failed"))}}},
	{name: "stale hub", why: "nothing good is believed of it", rows: Rows{Stale: map[string]time.Time{"hub1": since}, Payloads: []PayloadRow{
		payload("hub1", addOn("True", "True", "Synced")), payload("hub1", addOn("True", "False", "Conflict"))}}},
	{name: "clusters that are alike", why: "the database counts them; there may be a million", rows: Rows{Payloads: []PayloadRow{
		{LeafHub: "hub1", Payload: []byte(addOn("True", "False", "Conflict")), Count: 3},
		{LeafHub: "hub1", Payload: []byte(addOn("True", "True", "Synced")), Count: 1000}}}},
	{name: "garbage", why: "less than the truth must not be written", rows: Rows{Payloads: []PayloadRow{payload("hub1", `{"status":[]}`)}}},
}
