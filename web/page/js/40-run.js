// The run that is open: its log as it is and as it grows, what it used, what was
// decided about it, and whether its chain holds.

const replayTail = 5000;
const keepEvents = 6000;

function openRun(id) {
  if (state.open && state.open.id === id) return;
  const tab = (state.open && state.open.tab) || 'transcript';
  closeRun();
  const row = monitorRows().find((r) => r.run_id === id);
  state.open = {
    id,
    project: (row && row.project_id) || state.project,
    tab,
    kind: 'all',
    events: [],
    known: new Set(),
    transcript: new Transcript(),
    usage: [],
    issues: [],
    verified: null,
    cut: false,
    busy: true,
    error: '',
    early: [],
    follow: true,
    from: 0,
    stopping: false,
    stream: null, // of the transcript
    followed: false, // its first frame came
    speaking: false,
    message: null,
  };
  state.fields.note = '';
  loadRun();
  followTranscript(state.open);
  stale('comments/' + id, 'continuable/' + id, 'policy/' + id);
}

function closeRun() {
  if (state.open && state.open.stream) state.open.stream.stop();
  state.open = null;
}

// reopenRun reads the log anew: after a pause of the page, or by hand.
function reopenRun() {
  if (state.open && !state.open.busy) loadRun();
}

async function loadRun() {
  const open = state.open;
  open.busy = true;
  open.early = [];
  changed();
  try {
    const log = await call('run.replay', { project_id: open.project, run_id: open.id, mode: 'verified', tail: replayTail });
    if (state.open !== open) return;
    open.events = [];
    open.known = new Set();
    open.usage = [];
    open.issues = [
      ...(log.parse_issues || []).map((i) => ({ seq: i.seq, what: 'Line ' + i.seq + ' cannot be read: ' + i.error })),
      ...(log.verification_issues || []).map((i) => ({ seq: i.seq, what: 'Event ' + i.seq + ': ' + i.message })),
    ];
    open.verified = log.deterministic_ok;
    open.cut = log.events.length >= replayTail;
    open.error = '';
    const faults = (log.parse_issues || []).map((i) => i.seq);
    let seq = 0;
    for (const event of log.events) {
      seq++;
      while (faults.includes(seq)) seq++;
      keepEvent(open, open.cut ? 0 : seq, event);
    }
    // What the log has counts for the row of the run, too.
    const seen = state.runs.get(open.id) || newRun(open.id);
    for (const { event } of open.events) fold(seen, event);
    seen.seq = Math.max(seen.seq, open.lastSeq || 0);
    for (const [at, event] of open.early) keepEvent(open, at, event);
    open.early = [];
  } catch (error) {
    open.error = error.message;
  }
  open.busy = false;
  changed();
}

// openTakes takes an event of the live stream. One that comes while the log is
// being read waits for it; where some are missing the log is read again.
function openTakes(seq, event) {
  const open = state.open;
  if (open.busy) {
    open.early.push([seq, event]);
    return;
  }
  const last = open.lastSeq || 0;
  keepEvent(open, seq, event);
  if (last && seq > last + 1 && !open.cut) {
    clearTimeout(open.again);
    open.again = setTimeout(() => state.open === open && reopenRun(), 500);
  }
}

function keepEvent(open, seq, event) {
  const id = event && event.event_id;
  if (id) {
    if (open.known.has(id)) return;
    open.known.add(id);
  }
  if (seq) open.lastSeq = Math.max(open.lastSeq || 0, seq);
  if (!event || typeof event !== 'object') return;
  open.events.push({ seq, event, key: id || 's' + seq + '/' + open.events.length });
  if (open.events.length > keepEvents) {
    for (const gone of open.events.splice(0, keepEvents / 4)) open.known.delete(gone.event.event_id);
    open.cut = true;
  }
  open.filtered = null;
  if (event.type === 'usage.reported' || event.type === 'usage.estimated') {
    const tokens = (event.payload || {}).total_tokens;
    if (known(tokens)) open.usage.push({ at: instant(event.ts_wallclock), tokens, estimated: event.type === 'usage.estimated' });
    if (open.usage.length > 800) open.usage = open.usage.filter((_, i) => i % 2 === 1 || i === open.usage.length - 1);
  }
  if (event.type === 'comment.added') stale('comments/' + open.id);
}

// kindOf sorts events by what a reader looks for.
function kindOf(type) {
  if (type === 'provider.raw') return 'output';
  if (/^(policy|budget|approval|interaction|permission)\.|^run\.policy_changed/.test(type)) return 'decisions';
  if (/^(usage|context)\./.test(type)) return 'usage';
  if (/^comment\./.test(type)) return 'notes';
  return 'run';
}

// tell says what an event means, in words.
function tell(event) {
  const p = event.payload || {};
  switch (event.type) {
    case 'run.started': return 'Run made for ' + agentName(p.agent_id) + ' with ' + p.provider;
    case 'run.executing': return 'Executing ' + (Array.isArray(p.argv) ? p.argv.join(' ') : sentence(p.mode));
    case 'run.ended': return 'Ended' + (known(p.exit_code) ? ' with exit code ' + p.exit_code : '') + (p.budget_exceeded ? ', over its budget' : '');
    case 'run.stopped': return 'Stopped' + (p.signal ? ' by ' + p.signal : '') + (p.budget_exceeded ? ', over its budget' : '');
    case 'run.failed': return 'Failed' + (p.error_kind && p.error_kind !== 'unknown' ? ' (' + words(p.error_kind) + ')' : '') + (p.error ? ': ' + p.error : p.reason ? ': ' + words(p.reason) : known(p.exit_code) ? ' with exit code ' + p.exit_code : p.orphaned ? ': its process was gone' : '');
    case 'policy.decision': return (p.allowed ? 'Allowed' : 'Refused') + ' to ' + p.action + ' ' + words(p.resource_kind) + ', by rule ' + p.rule_id + ': ' + words(p.reason);
    case 'policy.denied': return 'Refused to ' + p.action + (p.policy ? ', by rule ' + p.policy.rule_id + ': ' + words(p.policy.reason) : '');
    case 'budget.decision': return 'Budget of the ' + p.scope + ', ' + p.metric + ': ' + count(p.actual) + ' of ' + count(p.threshold) + ' (' + p.severity + '), ' + words(p.result);
    case 'budget.alert': return 'Budget alert: ' + p.metric + ' of the ' + p.scope + ' at ' + count(p.actual) + ' of ' + count(p.threshold);
    case 'budget.exceeded': return 'Budget exceeded: ' + p.metric + ' of the ' + p.scope + ' at ' + count(p.actual) + ' of ' + count(p.threshold);
    case 'usage.reported': return count(p.total_tokens) + ' tokens so far, as the provider reports';
    case 'usage.estimated': return 'About ' + count(p.total_tokens) + ' tokens, estimated from the length of the text';
    case 'usage.cost_computed': return 'Costs ' + money(p.cost_usd) + ' by the rate card';
    case 'context.cycle.detected': return 'Context compacted, ' + plural(p.count, 'time');
    case 'artifact.produced': return 'Produced ' + words(p.artifact_type || p.kind) + ' ' + p.artifact_id;
    case 'worktree.prepared': return 'Worktree of ' + p.repo_id + ' on ' + p.branch;
    case 'approval.decided': return sentence(p.decision) + ': ' + words(p.subject_kind) + (p.policy ? ', by rule ' + p.policy.rule_id : '');
    case 'comment.added': return 'Note: ' + p.body;
    case 'interaction.requested': return 'Asks: ' + p.title;
    case 'interaction.resolved': return outcomeOf(p);
    case 'permission.judged': return sentence(p.effect) + ' ' + words(p.operation) + ' ' + (p.resource || '') + ', by ' + words(p.by);
    case 'run.policy_changed': return 'Policy: mode ' + words((p.after || {}).mode) + ', level ' + (p.after || {}).permission_level;
    case 'run.turn_started': return 'Turn ' + p.turn + ' begins';
    case 'run.turn_ended': return 'Turn ' + p.turn + ' ' + words(p.status) + (p.error ? ': ' + p.error : '');
    case 'run.steer_queued': return 'Said: ' + (p.display_text || p.text);
    case 'provider.raw': return String(p.chunk || '').trim();
    default: return sentence(event.type) + (p.message ? ': ' + p.message : '');
  }
}

// toneOf is good, bad, warn or '' for an event.
function toneOf(event) {
  const p = event.payload || {};
  if (event.type === 'policy.denied' || event.type === 'budget.exceeded' || event.type === 'run.failed') return 'bad';
  if (event.type === 'budget.alert' || event.type === 'run.stopped') return 'warn';
  if (event.type === 'policy.decision') return p.allowed ? 'good' : 'bad';
  if (event.type === 'budget.decision') return p.result === 'ok' ? 'good' : p.severity === 'hard' ? 'bad' : 'warn';
  if (event.type === 'run.ended') return 'good';
  if (event.type === 'approval.decided') return p.decision === 'approved' ? 'good' : 'bad';
  return '';
}

async function stopRun(row) {
  const open = state.open;
  try {
    await call('session.stop', { session_ref: row.session_ref || 'local_' + row.run_id });
    say('Asked ' + brief(row.run_id) + ' to stop.');
  } catch (error) {
    say('Not stopped: ' + error.message, true);
  }
  if (open) open.stopping = false;
  refresh();
}

// addNote says something about a run, an artifact or an agent.
async function addNote(target, body) {
  try {
    const answered = await send('/api/comments', { body, ...target });
    if (answered.snapshot) takeSnapshot(answered.snapshot);
    stale('comments/*');
    say('Note kept.');
    return true;
  } catch (error) {
    say('Not kept: ' + error.message, true);
    return false;
  }
}
