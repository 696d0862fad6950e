package mirror

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A remnant is what others had put on a copy that was deleted to be replaced,
// and is not created again yet: the API server refused, or did not answer. It is
// in memory alone: what others put on an immutable copy is lost when the agent
// ends just then.

// nextRemnant is the remnant of a name after an action on it ended with err;
// before is the one from before, nil for none.
func nextRemnant(before *metav1.ObjectMeta, action Action, err error) *metav1.ObjectMeta {
	switch {
	case err == nil:
		return nil
	case action.Kind == Replace:
		return &action.Object.ObjectMeta
	case action.Kind == Create:
		return before
	default:
		return nil
	}
}

// withRemnant is the action with what others had put on the copy before.
func withRemnant(action Action, remnant *metav1.ObjectMeta) Action {
	if action.Kind != Create || remnant == nil {
		return action
	}
	object := action.Object.DeepCopy()
	for key, value := range remnant.Labels {
		if _, ours := object.Labels[key]; !ours {
			object.Labels[key] = value
		}
	}
	for key, value := range remnant.Annotations {
		if _, ours := object.Annotations[key]; !ours {
			object.Annotations[key] = value
		}
	}
	object.OwnerReferences = remnant.OwnerReferences
	action.Object = object
	return action
}

func (c *Controller) remnant(name string) *metav1.ObjectMeta {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.remnants[name]
}

func (c *Controller) keepRemnant(action Action, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if remnant := nextRemnant(c.remnants[action.Name], action, err); remnant != nil {
		c.remnants[action.Name] = remnant
		return
	}
	delete(c.remnants, action.Name)
}
