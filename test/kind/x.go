package main
import (
 _ "sigs.k8s.io/kind/pkg/cluster"
 _ "helm.sh/helm/v3/pkg/action"
 _ "open-cluster-management.io/ocm/deploy/cluster-manager/chart"
 _ "open-cluster-management.io/ocm/deploy/klusterlet/chart"
 _ "k8s.io/client-go/kubernetes"
)
func main(){}
