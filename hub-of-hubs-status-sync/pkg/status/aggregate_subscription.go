package status

import "strings"

// LabelHostingSubscription says on a SubscriptionStatus and a SubscriptionReport
// which Subscription they are about.
const LabelHostingSubscription = "apps.open-cluster-management.io/hosting-subscription"

// maxLabel is the longest value that a label may have.
const maxLabel = 63

// hostingSubscription is the value of that label: namespace.name, cut to what a
// label may have, as the subscription controller cuts it. A value must not end
// with punctuation, so that is cut off as well.
func hostingSubscription(rows Rows) map[string]string {
	value := rows.Namespace + "." + rows.Name
	if len(value) > maxLabel {
		value = value[:maxLabel]
	}
	return map[string]string{LabelHostingSubscription: strings.TrimRight(value, "-_.")}
}
