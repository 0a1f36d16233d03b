package doc_test

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"ac/workspace/doc"
)

func TestHeartbeatDefaults(t *testing.T) {
	t.Parallel()
	config, err := doc.HeartbeatConfigCodec.Decode([]byte("{}"))
	if err != nil || config != doc.DefaultHeartbeatConfig() {
		t.Errorf("%+v, %v", config, err)
	}
	state, err := doc.HeartbeatStateCodec.Decode([]byte("{}"))
	if err != nil || !reflect.DeepEqual(state, doc.EmptyHeartbeatState()) {
		t.Errorf("%+v, %v", state, err)
	}
	for _, bad := range []string{"", "[]", "extra: 1", "tick_interval_minutes: 0", "tick_interval_minutes: 1.5", "enabled: yes", "type: heartbeat_state", "quiet_hours_end_hour: 24", "jitter_max_seconds: null"} {
		if _, err := doc.HeartbeatConfigCodec.Decode([]byte(bad)); err == nil {
			t.Errorf("a config: %q", bad)
		}
	}
	for _, bad := range []string{"extra: 1", "stats: {ticks_total: -1}", "stats: {more: 1}", "run_event_cursors: {a: -1}", "idempotency: {k: {idempotency_key: k}}", "worker_state: {a: {last_ok_at: now}}"} {
		if _, err := doc.HeartbeatStateCodec.Decode([]byte(bad)); err == nil {
			t.Errorf("a state: %q", bad)
		}
	}
}

// TestHeartbeatStateIsKept checks that a state that another program wrote is encoded to the same
// bytes.
func TestHeartbeatStateIsKept(t *testing.T) {
	t.Parallel()
	text := []byte(`schema_version: 1
type: heartbeat_state
running: false
last_tick_id: hbtick_1795187259624_1ir5vz7l
last_tick_at: 2026-11-20T15:07:39.624Z
last_tick_reason: rpc
next_tick_at: 2026-11-20T15:27:40.317Z
run_event_cursors:
  proj_a::run_01M7WQZBSMMV4F2EVVGMKXAW3K: 8
worker_state:
  agent_w0:
    last_ok_at: 2026-11-20T15:07:40.316Z
    last_context_hash: dc3f43f076ef0eb1f8ab1c1daafc13173907c108353a2594c452256846c6d0f7
    suppressed_until: 2026-11-20T16:07:40.316Z
    last_wake_at: 2026-11-20T15:07:39.624Z
    last_report_status: ok
idempotency:
  k:c1:
    idempotency_key: k:c1
    action_kind: add_comment
    first_seen_at: 2026-11-20T15:08:39.703Z
    last_seen_at: 2026-11-20T15:08:39.703Z
    expires_at: 2026-12-04T15:08:39.703Z
    status: executed
    execution_count: 1
hourly_action_counters:
  2026-11-20-15: 3
stats:
  ticks_total: 4
  workers_woken_total: 4
  reports_ok_total: 4
  reports_actions_total: 0
  actions_executed_total: 3
  approvals_queued_total: 0
  deduped_actions_total: 0
`)
	state, err := doc.HeartbeatStateCodec.Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	again, err := doc.HeartbeatStateCodec.Encode(state)
	if err != nil || !bytes.Equal(text, again) {
		t.Errorf("%v\n%s", err, again)
	}
}

func TestActionsAreStrict(t *testing.T) {
	t.Parallel()
	const common = "{idempotency_key: k, risk: low, needs_approval: false, "
	for text, bad := range map[string]string{
		common + "kind: noop, reason: r}":                                                                                      "",
		common + "kind: noop}":                                                                                                 "reason",
		common + "kind: noop, reason: r, project_id: p}":                                                                       "project_id",
		common + "kind: noop, reason: r, goal: g}":                                                                             "goal",
		common + "kind: noop, reason: r, constraints: []}":                                                                     "constraints",
		common + "kind: noop, reason: r, nonsense: 1}":                                                                         "unknown: nonsense",
		common + "kind: noop, reason: r, title: t}":                                                                            "title",
		common + "kind: launch_job, project_id: p, goal: g}":                                                                   "",
		common + "kind: launch_job, project_id: p, goal: g, worker_kind: gpt}":                                                 "worker_kind",
		common + "kind: launch_job, project_id: p, goal: g, permission_level: all}":                                            "permission_level",
		common + "kind: launch_job, project_id: p, goal: g, body: b}":                                                          "body",
		common + "kind: launch_job, goal: g}":                                                                                  "project_id",
		common + "kind: add_comment, project_id: p, body: b}":                                                                  "target",
		common + "kind: add_comment, project_id: p, body: b, target_run_id: r}":                                                "",
		common + "kind: create_approval_item, project_id: p, title: t}":                                                        "",
		common + "kind: create_approval_item, title: t}":                                                                       "project_id",
		common + "kind: create_approval_item, project_id: p, title: t, goal: g}":                                               "goal",
		common + "kind: create_approval_item, project_id: p, title: t, proposed_action: {kind: noop}}":                         "proposed_action",
		common + "kind: other}":                                                                                                "kind",
		"{idempotency_key: k, risk: none, needs_approval: false, kind: noop, reason: r}":                                       "risk",
		"{idempotency_key: '', risk: low, needs_approval: false, kind: noop, reason: r}":                                       "idempotency_key",
		"{idempotency_key: k, risk: low, needs_approval: 'no', kind: noop, reason: r}":                                         "needs_approval",
		"{risk: low, needs_approval: false, kind: noop, reason: r}":                                                            "idempotency_key",
		common + "kind: create_approval_item, project_id: p, title: t, proposed_action: " + common + "kind: noop, reason: r}}": "",
		common + "kind: create_approval_item, project_id: p, title: t, proposed_action: " + common + "kind: create_approval_item, project_id: p}}":                "proposed_action.kind",
		common + "kind: create_approval_item, project_id: p, title: t, proposed_action: " + common + "kind: create_approval_item, project_id: p, title: nested}}": "proposed_action",
	} {
		_, err := doc.ActionCodec.Decode([]byte(text))
		if (err == nil) != (bad == "") || err != nil && !strings.Contains(err.Error(), bad) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestActionsAreFilled(t *testing.T) {
	t.Parallel()
	action, err := doc.ActionCodec.Decode([]byte(`{idempotency_key: k, risk: low, needs_approval: false, kind: create_approval_item, project_id: p, title: t,
 proposed_action: {idempotency_key: i, risk: low, needs_approval: false, kind: launch_job, project_id: p, goal: g}}`))
	if err != nil {
		t.Fatal(err)
	}
	inner := action.WithDefaults().ProposedAction
	if inner.WorkerKind != "codex" || inner.PermissionLevel != "read-only" || inner.Constraints == nil || inner.Deliverables == nil {
		t.Errorf("%+v", inner)
	}
	if action.ProposedAction.WorkerKind != "" {
		t.Error("the action itself was changed")
	}
}
