package inbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"

	"ac/governance"
	"ac/internal/fault"
	"ac/pm"
	"ac/workspace"
	"ac/workspace/doc"
)

// plans is the number of times that each process plans the task.
const plans = 6

// TestACrowdDecides lets three processes decide on the same items concurrently. Each approves and
// denies every item, and plans the task whose milestones are approved.
func TestACrowdDecides(t *testing.T) {
	t.Parallel()
	const processes = 3
	s := newStage(t, 5)
	order, err := json.Marshal(crowdOrder{Dir: s.dir, Project: s.project, Task: s.task, Items: artifacts(s.items)})
	if err != nil {
		t.Fatal(err)
	}
	outputs, failures := make([]bytes.Buffer, processes), make([]error, processes)
	var wg sync.WaitGroup
	for p := range processes {
		wg.Go(func() {
			cmd := exec.CommandContext(t.Context(), os.Args[0], crowdCommand, string(order), fmt.Sprint("task_", p))
			cmd.Stdout, cmd.Stderr = &outputs[p], os.Stderr
			failures[p] = cmd.Run()
		})
	}
	wg.Wait()
	if err := errors.Join(failures...); err != nil {
		t.Fatal(err)
	}
	approvals := map[string]int{} // by item: how many processes saw their approval succeed
	for p := range processes {
		var told []string
		if err := json.Unmarshal(outputs[p].Bytes(), &told); err != nil {
			t.Fatal(err)
		}
		for _, artifact := range told {
			approvals[artifact]++
		}
	}
	w := open(t, calm(), s.dir)
	for _, i := range s.items {
		seen := s.look(t, w, i)
		seen.is(t, "at the end", i)
		if seen.approvals != 1 || approvals[i.artifact] != 1 {
			t.Errorf("%s was approved %d times, and %d were told so", i.mark, seen.approvals, approvals[i.artifact])
		}
	}
	s.whole(t, "at the end", w)
	task, err := w.Task(s.project, s.task)
	if err != nil || task.Status != "done" {
		t.Errorf("the task is %s, %v", task.Status, err)
	}
	if task.Schedule == nil || len(task.Schedule.DependsOnTaskIDs) != processes*plans {
		t.Errorf("plans were lost: %+v", task.Schedule)
	}
}

type crowdOrder struct {
	Dir, Project, Task string
	Items              []string
}

func artifacts(items []item) (ids []string) {
	for _, i := range items {
		ids = append(ids, i.artifact)
	}
	return ids
}

// plan adds dependencies to the task.
func (o crowdOrder) plan(w *workspace.Workspace, by string) error {
	for i := range plans {
		_, err := pm.ChangeTask(context.Background(), w, o.Project, o.Task, func(task *doc.Task) error {
			schedule := doc.Schedule{}
			if task.Schedule != nil {
				schedule = *task.Schedule
			}
			schedule.DependsOnTaskIDs = append(schedule.DependsOnTaskIDs, fmt.Sprintf("%s_%d", by, i))
			return pm.ApplyPlan(task, pm.PlanChange{Schedule: &schedule}, "")
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// crowd concurrently approves and denies every item and plans the task. It prints the items that
// its own approvals decided.
func crowd(args []string) error {
	var order crowdOrder
	if err := json.Unmarshal([]byte(args[0]), &order); err != nil {
		return err
	}
	env := calm()
	env.LockPatience = 1 << 40
	w, err := workspace.Open(env, order.Dir)
	if err != nil {
		return err
	}
	s := stage{project: order.Project}
	var mu sync.Mutex
	var failures []error
	mine := []string{}
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := order.plan(w, args[1]); err != nil {
			mu.Lock()
			defer mu.Unlock()
			failures = append(failures, err)
		}
	})
	for i, artifact := range order.Items {
		for k, decision := range []string{governance.Approved, governance.Denied} {
			if i%2 == 0 {
				decision = []string{governance.Denied, governance.Approved}[k]
			}
			wg.Go(func() {
				_, err := Resolve(context.Background(), w, s.ruling(artifact, decision), jobs{s.project})
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil && decision == governance.Approved:
					mine = append(mine, artifact)
				case err != nil && !fault.Is(err, fault.Conflict):
					failures = append(failures, fmt.Errorf("%s %s: %w", decision, artifact, err))
				}
			})
		}
	}
	wg.Wait()
	text, err := json.Marshal(mine)
	if err != nil {
		return err
	}
	fmt.Println(string(text))
	return errors.Join(errors.Join(failures...), w.Close())
}
