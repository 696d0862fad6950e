package hub

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// object is one of the first cluster's, as etcd has it.
type object struct {
	kind, key string
	text      string
	uid       string
}

// capture reads what the first cluster has.
func (h *Hub) capture(ctx context.Context) ([]object, error) {
	var objects []object
	for _, o := range []struct{ kind, path, key string }{
		{"Namespace", "/api/v1/namespaces/" + first, "/registry/namespaces/" + first},
		{"ManagedCluster", "/apis/cluster.open-cluster-management.io/v1/managedclusters/" + first,
			"/registry/cluster.open-cluster-management.io/managedclusters/" + first},
		{"ManifestWork", works + "/addon-helloworld-deploy-0",
			"/registry/work.open-cluster-management.io/manifestworks/" + first + "/addon-helloworld-deploy-0"},
		{"RoleBinding", rbac + "/rolebindings/" + role, "/registry/rolebindings/" + first + "/" + role},
		{"Role", rbac + "/roles/" + role, "/registry/roles/" + first + "/" + role},
		{"ManagedClusterAddOn", addons1 + addOn, "/registry/addon.open-cluster-management.io/managedclusteraddons/" + first + "/helloworld"},
	} {
		read, err := h.get(ctx, o.path)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read the first cluster's %s: %w", o.kind, err)
		}
		metadata := read["metadata"].(map[string]any)
		uid := fmt.Sprint(metadata["uid"])
		delete(metadata, "resourceVersion")
		text, err := json.Marshal(read)
		if err != nil {
			return nil, err
		}
		objects = append(objects, object{o.kind, o.key, string(text), uid})
	}
	return objects, nil
}

// copies are the objects of the n-th cluster, with names and UIDs of their own.
func (h *Hub) copies(objects []object, n int) []object {
	name := fmt.Sprintf("fleet-%05d", n)
	rename := []string{first, name}
	for _, o := range objects {
		rename = append(rename, o.uid, fmt.Sprintf("%s%05d", o.uid[:len(o.uid)-5], n))
	}
	replacer := strings.NewReplacer(rename...)
	var copied []object
	for _, o := range objects {
		copied = append(copied, object{kind: o.kind, key: replacer.Replace(o.key), text: replacer.Replace(o.text)})
		if o.kind != "ManagedClusterAddOn" {
			continue
		}
		for i := 1; i < h.AddOns; i++ {
			other := fmt.Sprintf("other-%04d", i) // as long as helloworld
			uid := fmt.Sprintf("%s%02d-%05d", o.uid[:len(o.uid)-8], i, n)
			another := strings.NewReplacer(append(rename[:2:2], o.uid, uid, "helloworld", other)...)
			copied = append(copied, object{kind: o.kind, key: another.Replace(o.key), text: another.Replace(o.text)})
		}
	}
	return copied
}

type put struct {
	Key   []byte `json:"key"`
	Value []byte `json:"value"`
}

type operation struct {
	Put put `json:"request_put"`
}

// seed writes all clusters but the first, which has its other add-ons yet to get,
// into etcd, by its JSON gateway.
func (h *Hub) seed(ctx context.Context, objects []object) error {
	const batch = 100 // etcd takes 128 operations at once
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(4)
	var operations []operation
	flush := func() {
		some := operations
		operations = nil
		group.Go(func() error { return transact(ctx, some) })
	}
	for n := range h.Clusters {
		for _, o := range h.copies(objects, n) {
			operations = append(operations, operation{put{[]byte(o.key), []byte(o.text)}})
			if len(operations) == batch {
				flush()
			}
		}
	}
	flush()
	return group.Wait()
}

func transact(ctx context.Context, operations []operation) error {
	if len(operations) == 0 {
		return nil
	}
	body, err := json.Marshal(map[string]any{"success": operations})
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, etcdURL+"/v3/kv/txn", bytes.NewReader(body))
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err == nil && (response.StatusCode != http.StatusOK || !bytes.Contains(answer, []byte(`"succeeded":true`))) {
		err = fmt.Errorf("etcd answered %s: %s", response.Status, answer)
	}
	return err
}
