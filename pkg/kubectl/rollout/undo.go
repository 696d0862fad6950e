package rollout

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"open-cluster-management.io/helloworld-addon/api/v1alpha1"
	"open-cluster-management.io/helloworld-addon/pkg/kubectl/rollout/plan"
)

// maxConflicts is how many conflicts with writers of other fields one write survives.
const maxConflicts = 5

// errUnknownOutcome is part of the error of a write that the API server may have carried out.
var errUnknownOutcome = errors.New("the write may have been carried out")

// undoOptions are the flags of undo.
type undoOptions struct {
	to, dryRun string
	force      bool
}

func newUndo(o options) *cobra.Command {
	var flags undoOptions
	command := o.subcommand("undo", "Roll back to a former revision",
		func(ctx context.Context, s *session, name string) error {
			if err := flags.validate(); err != nil {
				return err
			}
			return s.undo(ctx, name, flags)
		})
	command.Long = "Roll back to a former revision: write its content into the source ConfigMap that differs, or its sources and values " +
		"into the spec of the set. The controller then rolls that revision out, in steps as any other. Where several objects differ, nothing is written."
	command.Flags().StringVar(&flags.to, "to-revision", "", "number or hash of the revision; by default the last one that reached every cluster, "+
		"or if that is what the sources have, the one before")
	command.Flags().StringVar(&flags.dryRun, "dry-run", "none", "none, client (only print what would be written) or server (let the API server check it, too)")
	command.Flags().BoolVar(&flags.force, "force-conflicts", false, "write what another program applies, too")
	return command
}

// validate returns an error if a flag has a wrong value.
func (o undoOptions) validate() error {
	if o.dryRun != "none" && o.dryRun != "client" && o.dryRun != "server" {
		return fmt.Errorf("--dry-run=%s: want none, client or server", o.dryRun)
	}
	return nil
}

func (s *session) undo(ctx context.Context, name string, flags undoOptions) error {
	set, undo, err := s.planUndo(ctx, name, flags)
	if err != nil {
		return err
	}
	if undo.Nothing() {
		_, err := fmt.Fprintf(s.out, "%s skipped rollback (the sources have revision %s already)\n", reference(name), undo.To)
		return err
	}
	for _, note := range undo.Notes {
		fmt.Fprintf(s.err, "note: %s\n", note)
	}
	if err := s.carryOut(ctx, set, undo, flags.dryRun); errors.Is(err, errUnknownOutcome) {
		return fmt.Errorf("%w. Repeat it:\n  %s", err, s.repeat(name, undo.To.Hash, flags.force))
	} else if err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.out, "%s rolled back to revision %s%s\n", reference(name), undo.To, suffix(flags.dryRun))
	return err
}

// repeat returns the command that writes the same revision again.
func (s *session) repeat(name, hash string, force bool) string {
	command := fmt.Sprintf("kubectl helloworld rollout undo -n %s %s --to-revision=%s", s.namespace, name, hash)
	if force {
		command += " --force-conflicts"
	}
	return command
}

// suffix returns how kubectl marks the output of a dry run.
func suffix(dryRun string) string {
	return map[string]string{"client": " (dry run)", "server": " (server dry run)"}[dryRun]
}

// planUndo reads everything that the undo depends on, and returns it with the set.
func (s *session) planUndo(ctx context.Context, name string, flags undoOptions) (*v1alpha1.ConfigMapReplicaSet, plan.Undo, error) {
	set, err := s.set(ctx, name)
	if err != nil {
		return nil, plan.Undo{}, err
	}
	history, err := s.history(ctx, set)
	if err != nil {
		return nil, plan.Undo{}, err
	}
	sources, err := s.sources(ctx, plan.Names(set, plan.Revision{}))
	if err != nil {
		return nil, plan.Undo{}, err
	}
	to, err := plan.Target(set, history, plan.NewPresent(set, sources), flags.to)
	if err != nil {
		return nil, plan.Undo{}, err
	}
	if sources, err = s.sources(ctx, plan.Names(set, to)); err != nil {
		return nil, plan.Undo{}, err
	}
	others, listErr := s.allSets(ctx)
	forbidden := apierrors.IsForbidden(listErr)
	if listErr != nil && !forbidden {
		return nil, plan.Undo{}, listErr
	}
	undo, err := plan.NewUndo(plan.Facts{Set: set, Sources: sources, Others: others, ForceConflicts: flags.force}, to)
	if err != nil {
		return nil, plan.Undo{}, fmt.Errorf("cannot roll %s back to revision %s; nothing was written: %w", plan.Named(name), to, err)
	}
	if forbidden && undo.Source != nil {
		undo.Notes = append(undo.Notes, fmt.Sprintf("whether ConfigMap %s is a source of other sets, too, is not known: %v", undo.Source.Former.Name, listErr))
	}
	return set, undo, nil
}

// carryOut sends the write of the undo and prints it. For --dry-run=server the API server admits the write and does not
// store it; for client nothing is sent.
func (s *session) carryOut(ctx context.Context, set *v1alpha1.ConfigMapReplicaSet, undo plan.Undo, mode string) error {
	var dryRun []string
	if mode == "server" {
		dryRun = []string{metav1.DryRunAll}
	}
	var done string
	var changes []string
	var send func() error
	if undo.Source != nil {
		done, changes = "configmap/"+undo.Source.Former.Name+" restored", undo.Source.Changes()
		if undo.Source.Present == nil {
			done = "configmap/" + undo.Source.Former.Name + " created"
		}
		send = func() error { return s.send(ctx, *undo.Source, dryRun) }
	} else {
		done, changes = reference(set.Name)+" spec restored", undo.Spec.Changes(set)
		send = func() error { return s.sendSpec(ctx, set, *undo.Spec, dryRun) }
	}
	if mode != "client" {
		if err := send(); err != nil {
			return err
		}
	}
	fmt.Fprintf(s.out, "%s%s\n", done, suffix(mode))
	if mode == "none" {
		return nil
	}
	for _, line := range changes {
		fmt.Fprintf(s.out, "  %s\n", line)
	}
	return nil
}

// sendSpec sends the write of the spec. The controller writes the status of the set all the time, so a conflict is
// retried if the spec is as it was.
func (s *session) sendSpec(ctx context.Context, set *v1alpha1.ConfigMapReplicaSet, write plan.SpecWrite, dryRun []string) error {
	for conflicts := 0; ; conflicts++ {
		now, err := s.set(ctx, set.Name)
		if err != nil {
			return err
		}
		if err := write.Again(set, now); err != nil {
			return err
		}
		if err = s.patch(ctx, now, now.ResourceVersion, write.Patch(), dryRun...); !apierrors.IsConflict(err) || conflicts == maxConflicts {
			return outcome(err, dryRun)
		}
	}
}

// send sends the write of a source. A conflict with a writer that left the content alone is retried.
func (s *session) send(ctx context.Context, write plan.SourceWrite, dryRun []string) error {
	for conflicts := 0; ; conflicts++ {
		err := s.sendOnce(ctx, write, dryRun)
		if !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) || conflicts == maxConflicts {
			return outcome(err, dryRun)
		}
		now, err := s.source(ctx, write.Former.Name)
		if err != nil {
			return err
		}
		if write, err = write.Again(now); err != nil || write.Done() {
			return err
		}
	}
}

// outcome adds to the error of a write that its outcome is not known: the request was sent, and the API server did not
// answer it, or answered that it did not complete in time.
func outcome(err error, dryRun []string) error {
	var status apierrors.APIStatus
	known := errors.As(err, &status) && !apierrors.IsTimeout(err) && !apierrors.IsServerTimeout(err)
	if err == nil || known || len(dryRun) > 0 {
		return err
	}
	return fmt.Errorf("%w; %w", err, errUnknownOutcome)
}

func (s *session) sendOnce(ctx context.Context, write plan.SourceWrite, dryRun []string) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	client, object := s.kube.CoreV1().ConfigMaps(s.namespace), write.Object()
	var err error
	var verb string
	if write.Present == nil {
		verb = "create"
		_, err = client.Create(ctx, object, metav1.CreateOptions{FieldManager: plan.FieldManager, DryRun: dryRun})
	} else {
		verb = "update"
		_, err = client.Update(ctx, object, metav1.UpdateOptions{FieldManager: plan.FieldManager, DryRun: dryRun})
	}
	if err != nil {
		return fmt.Errorf("%s ConfigMap %s/%s: %w", verb, s.namespace, object.Name, err)
	}
	return nil
}
