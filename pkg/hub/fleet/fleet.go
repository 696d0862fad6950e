// Package fleet serves the metrics of the fleet: how the add-on is on the clusters of the hub, from the controller's
// caches at the time of the scrape. It sends no request and keeps nothing between scrapes.
//
// What the values are is decided by package samples. The agents' own metrics stay on their clusters.
package fleet

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/utils/clock"
	addonv1beta1 "open-cluster-management.io/api/addon/v1beta1"
	addonlisters "open-cluster-management.io/api/client/addon/listers/addon/v1beta1"
	clusterlisters "open-cluster-management.io/api/client/cluster/listers/cluster/v1"
	clusterv1 "open-cluster-management.io/api/cluster/v1"

	"open-cluster-management.io/helloworld-addon/pkg/fleet/report"
	"open-cluster-management.io/helloworld-addon/pkg/hub/fleet/samples"
)

// Source is from where a scrape reads. The caches must have synced.
type Source struct {
	// AddOns has the ManagedClusterAddOns of this add-on alone.
	AddOns   addonlisters.ManagedClusterAddOnLister
	Clusters clusterlisters.ManagedClusterLister
	Clock    clock.PassiveClock
	// PerCluster adds the series of each cluster.
	PerCluster bool
}

// Register adds the fleet's metrics to those that the program serves, and returns the function that removes them.
// Only the leader may call it: the sum over all replicas must count a cluster once.
func Register(source Source) (remove func(), err error) {
	registerer, c := legacyregistry.Registerer(), newCollector(source)
	if err := registerer.Register(c); err != nil {
		return nil, fmt.Errorf("register the metrics of the fleet: %w", err)
	}
	return func() { registerer.Unregister(c) }, nil
}

// collector implements prometheus.Collector.
type collector struct {
	source       Source
	descriptions map[*samples.Metric]*prometheus.Desc
}

func newCollector(source Source) *collector {
	c := &collector{source, map[*samples.Metric]*prometheus.Desc{}}
	for _, metric := range samples.Metrics {
		c.descriptions[metric] = prometheus.NewDesc(metric.Name, metric.Help, metric.Labels, nil)
	}
	return c
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(descriptions chan<- *prometheus.Desc) {
	for _, description := range c.descriptions {
		descriptions <- description
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(metrics chan<- prometheus.Metric) {
	in, err := c.source.input()
	if err != nil {
		metrics <- prometheus.NewInvalidMetric(c.descriptions[&samples.Clusters], err)
		return
	}
	for _, s := range samples.Of(in, c.source.PerCluster) {
		metrics <- prometheus.MustNewConstMetric(c.descriptions[s.Metric], prometheus.GaugeValue, s.Value, s.Labels...)
	}
}

// input returns the facts about every cluster that has a ManagedCluster or the add-on. The ConfigMapMirrors are
// cached without their status, so that the counts of ConfigMaps come from the condition ConfigMapsSynced.
func (s Source) input() (report.Input, error) {
	in := report.Input{ClustersRead: true, AddOnsRead: true, Now: s.Clock.Now()}
	clusters, err := s.Clusters.List(labels.Everything())
	if err != nil {
		return in, fmt.Errorf("list the cached ManagedClusters: %w", err)
	}
	addOns, err := s.AddOns.List(labels.Everything())
	if err != nil {
		return in, fmt.Errorf("list the cached ManagedClusterAddOns: %w", err)
	}
	byName := make(map[string]*addonv1beta1.ManagedClusterAddOn, len(addOns))
	for _, addOn := range addOns {
		byName[addOn.Namespace] = addOn
	}
	in.Clusters = make([]report.Facts, 0, max(len(clusters), len(addOns)))
	for _, cluster := range clusters {
		in.Clusters = append(in.Clusters, report.Facts{Name: cluster.Name, Cluster: clusterOf(cluster), AddOn: addOnOf(byName[cluster.Name])})
		delete(byName, cluster.Name)
	}
	for name, addOn := range byName {
		in.Clusters = append(in.Clusters, report.Facts{Name: name, AddOn: addOnOf(addOn)})
	}
	return in, nil
}

func clusterOf(cluster *clusterv1.ManagedCluster) *report.Cluster {
	return &report.Cluster{Accepted: cluster.Spec.HubAcceptsClient,
		Available: meta.FindStatusCondition(cluster.Status.Conditions, clusterv1.ManagedClusterConditionAvailable)}
}

func addOnOf(addOn *addonv1beta1.ManagedClusterAddOn) *report.AddOn {
	if addOn == nil {
		return nil
	}
	return &report.AddOn{Created: addOn.CreationTimestamp, Deleted: addOn.DeletionTimestamp, Conditions: addOn.Status.Conditions}
}
