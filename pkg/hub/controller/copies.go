package controller

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
)

// copied is an informer whose indexer hands out copies, so that nobody who
// changes what he was given changes the cache.
//
// addon-framework v1.3.0 puts the approval on the certificate request in its
// cache before it sends it. When that one request to the API server fails, the
// next look finds an approved one and is content, and the agent waits for its
// certificate until the controller is started again.
type copied struct {
	cache.SharedIndexInformer
}

// GetIndexer returns the informer's indexer; what it hands out are copies.
func (c copied) GetIndexer() cache.Indexer {
	return copyingIndexer{c.SharedIndexInformer.GetIndexer()}
}

// GetStore returns the informer's store; what it hands out are copies.
func (c copied) GetStore() cache.Store {
	return c.GetIndexer()
}

type copyingIndexer struct {
	cache.Indexer
}

func (c copyingIndexer) List() []any { return copyAll(c.Indexer.List()) }

func (c copyingIndexer) Get(obj any) (any, bool, error) {
	found, exists, err := c.Indexer.Get(obj)
	return copyOf(found), exists, err
}

func (c copyingIndexer) GetByKey(key string) (any, bool, error) {
	found, exists, err := c.Indexer.GetByKey(key)
	return copyOf(found), exists, err
}

func (c copyingIndexer) Index(name string, obj any) ([]any, error) {
	found, err := c.Indexer.Index(name, obj)
	return copyAll(found), err
}

func (c copyingIndexer) ByIndex(name, value string) ([]any, error) {
	found, err := c.Indexer.ByIndex(name, value)
	return copyAll(found), err
}

func copyAll(objects []any) []any {
	copies := make([]any, len(objects))
	for i := range objects {
		copies[i] = copyOf(objects[i])
	}
	return copies
}

func copyOf(obj any) any {
	if object, ok := obj.(runtime.Object); ok {
		return object.DeepCopyObject()
	}
	return obj
}
