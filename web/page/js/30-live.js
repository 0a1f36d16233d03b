// Keeping what is shown current: the stream of snapshots, the stream of run
// events, and polling while there is no stream or it says nothing.

const silence = 30000;
const pollEvery = 5000;
let streams = [];
let polls = 0;
let pollTimer = 0;

function takeSnapshot(snapshot) {
  if (!snapshot || !snapshot.monitor) return;
  state.snapshot = snapshot;
  state.failure = '';
  learnNames();
  catchUp();
  changed();
}

function takeParts(monitor, inbox) {
  if (!state.snapshot) return;
  state.snapshot = { ...state.snapshot, monitor, review_inbox: inbox, generated_at: monitor.generated_at };
  state.failure = '';
  changed();
}

async function refresh() {
  try {
    takeSnapshot(await readSnapshot());
  } catch (error) {
    state.failure = error.message;
    changed();
  }
}

// poll reads monitor and inbox, and every sixth time everything.
async function poll() {
  polls++;
  try {
    if (!state.snapshot || polls % 6 === 0) takeSnapshot(await readSnapshot());
    else takeParts(...(await Promise.all([readMonitor(), readInbox()])));
    if (state.link === 'lost') state.link = 'polling';
  } catch (error) {
    state.failure = error.message;
    state.link = 'lost';
    changed();
  }
}

function watchLink() {
  clearInterval(pollTimer);
  pollTimer = setInterval(() => {
    if (document.hidden) return;
    const silent = Date.now() - state.heardAt > silence;
    if (state.link !== 'live' || silent) poll();
  }, pollEvery);
}

function openStreams() {
  if (streams.length) return;
  streams = [
    follow('/api/events', {
      onframe(frame) {
        state.heardAt = Date.now();
        if (frame.event === 'error') {
          const said = parse(frame.data);
          state.failure = (said && said.message) || 'The snapshot failed.';
          changed();
          return;
        }
        if (frame.event === 'snapshot') takeSnapshot(parse(frame.data));
      },
      onbeat() {
        state.heardAt = Date.now();
      },
      onstate(link) {
        if (link === 'live') state.heardAt = Date.now();
        state.link = link === 'absent' ? 'polling' : link === 'live' ? 'live' : state.link === 'polling' ? 'polling' : link;
        changed();
      },
    }),
    follow('/api/stream?lines=1&talk=1&project_id=' + encodeURIComponent(state.project), {
      onframe(frame) {
        if (frame.event === 'talk') stale('messages/*', 'talk/*');
        if (frame.event !== 'run') return;
        const said = parse(frame.data);
        if (said && said.event) takeEvent(said);
      },
      onstate(link) {
        state.hears = link === 'live';
        if (state.hears) stale('messages/*', 'talk/*', 'interactions'); // what was said meanwhile
      },
    }),
  ];
}

function closeStreams() {
  for (const stream of streams) stream.stop();
  streams = [];
  if (state.open && state.open.stream) state.open.stream.stop();
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

// A browser gives one origin six connections for all its tabs: a tab nobody
// looks at gives its own back, and reads anew when it is looked at again.
function watchVisibility() {
  document.addEventListener('visibilitychange', () => {
    if (document.hidden) {
      closeStreams();
      return;
    }
    openStreams();
    reopenRun();
    if (state.open) followTranscript(state.open);
    changed();
  });
  addEventListener('pagehide', closeStreams);
  addEventListener('pageshow', (event) => {
    if (!event.persisted) return;
    openStreams();
    if (state.open) followTranscript(state.open);
  });
}

// learnNames reads the names behind ids when a snapshot has ids that are new.
let learnt = { at: 0, runs: '' };
async function learnNames() {
  const rows = monitorRows();
  const runs = rows.length + '/' + (rows[0] ? rows[0].run_id : '');
  if (Date.now() - learnt.at < 2000 || (learnt.runs === runs && Date.now() - learnt.at < 60000)) return;
  learnt = { at: Date.now(), runs };
  const settled = await Promise.allSettled([
    call('workspace.agents.list'),
    call('workspace.teams.list'),
    call('task.list', { project_id: state.project }),
    call('index.list_runs', { project_id: state.project, limit: 1000 }),
  ]);
  const [agents, teams, tasks, list] = settled.map((s) => (s.status === 'fulfilled' ? s.value : null));
  if (agents) state.agents = Array.isArray(agents) ? agents : agents.agents || [];
  if (teams) state.teams = Array.isArray(teams) ? teams : teams.teams || [];
  if (tasks) state.tasks = new Map((tasks.tasks || []).map((t) => [t.task_id, t.frontmatter]));
  if (list) state.runTask = new Map(list.filter((r) => r.spec_task_id).map((r) => [r.run_id, r.spec_task_id]));
  changed();
}

// takeEvent keeps of every run what its row shows, and hands the event to the
// run that is open.
function takeEvent({ run_id: id, seq, line, event }) {
  const run = state.runs.get(id) || newRun(id);
  if (line) run.line = line;
  if (/^interaction\./.test(event.type)) {
    if (event.type === 'interaction.resolved') resolvedElsewhere(event.payload || {});
    stale('interactions');
  } else if (event.type === 'run.policy_changed') stale('policy/' + id);
  if (seq <= run.seq) return;
  run.seq = seq;
  fold(run, event);
  if (state.open && state.open.id === id) openTakes(seq, event);
  changed();
}

// fold adds an event to what the row of its run shows.
function fold(run, event) {
  const payload = event.payload || {};
  if (event.type === 'usage.reported' || event.type === 'usage.estimated') {
    run.tokens = Math.max(run.tokens || 0, payload.total_tokens || 0);
    run.estimated = event.type === 'usage.estimated';
  } else if (event.type === 'usage.cost_computed') run.cost = payload.cost_usd;
}

// catchUp reads the last line and the usage of runs that were going before the page came.
async function catchUp() {
  const late = monitorRows().filter((row) => running(row) && !(state.runs.get(row.run_id) || {}).caughtUp).slice(0, 24);
  for (const row of late) {
    const run = state.runs.get(row.run_id) || newRun(row.run_id);
    run.caughtUp = true;
    try {
      const [read, list] = await Promise.all([
        call('run.transcript', { project_id: row.project_id, run_id: row.run_id, tail: 8 }),
        call('index.list_events', { project_id: row.project_id, run_id: row.run_id, limit: 60 }),
      ]);
      run.line = run.line || read.items.map(lineOf).filter(Boolean).pop() || '';
      for (const line of list.reverse()) {
        const event = { type: line.type, payload: parse(line.payload_json) };
        if (line.seq > run.seq || event.type === 'usage.reported') fold(run, event); // of reports the most counts
        run.seq = Math.max(run.seq, line.seq);
      }
      changed();
    } catch {
      return; // the stream tells what comes next
    }
  }
}

function newRun(id) {
  if (state.runs.size > 5000) state.runs.delete(state.runs.keys().next().value);
  const run = { seq: 0, line: '', tokens: null, cost: null, estimated: false, caughtUp: false };
  state.runs.set(id, run);
  return run;
}
