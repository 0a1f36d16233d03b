// What the page knows. Everything shown follows from here and from now.

const memory = {
  get(name) {
    try {
      return localStorage.getItem('ac.' + name);
    } catch {
      return null;
    }
  },
  set(name, value) {
    try {
      localStorage.setItem('ac.' + name, value);
    } catch {
      // A frame of another site may have no storage: the choice holds until the page closes.
    }
  },
};

const state = {
  project: boot.project_id || '',
  actor: boot.actor_id || 'human',
  role: boot.actor_role || 'manager',
  version: boot.version || '',
  route: { view: 'now', id: '' },
  snapshot: null,
  failure: '',
  link: 'connecting', // connecting, live, lost, polling
  hears: false, // the stream of runs and of talk is there
  heardAt: 0,
  now: Date.now(),
  agents: [],
  teams: [],
  tasks: new Map(),
  runTask: new Map(),
  runs: new Map(), // run id: what the live stream told of it
  open: null, // the run that is shown, see 40-run.js
  deciding: null,
  help: false,
  menu: false,
  toast: null,
  theme: memory.get('theme') || 'auto',
  keys: memory.get('keys') !== 'off',
  fields: {}, // what inputs hold, by name
  scroll: {}, // positions of virtual lists, by name
  cache: {}, // answers by name: {value, error, at, busy}
};

let drawing = 0;
let drawnAt = 0;

// changed draws soon: with the next frame, at most 25 times a second.
function changed() {
  if (drawing) return;
  const due = drawnAt + 40 - performance.now();
  drawing = due <= 0 ? requestAnimationFrame(drawNow) : setTimeout(() => requestAnimationFrame(drawNow), due);
}

function drawNow() {
  drawing = 0;
  drawnAt = performance.now();
  state.now = Date.now();
  draw();
}

// fetched gives what is known under a name and asks for it when that is missing
// or older than some milliseconds. What is known stays while the new comes.
function fetched(name, ask, age = Infinity) {
  let entry = state.cache[name];
  if (!entry) entry = state.cache[name] = { value: null, error: '', at: 0, busy: false, again: false };
  const old = entry.at === 0 || Date.now() - entry.at > age;
  if (old && !entry.busy) {
    entry.busy = true;
    entry.again = false;
    ask().then(
      (value) => {
        entry.value = value;
        entry.error = '';
      },
      (error) => {
        entry.error = error.message;
        entry.reason = error.reason;
      },
    ).finally(() => {
      entry.busy = false;
      entry.at = entry.again ? 0 : Date.now(); // it changed while it was read
      changed();
    });
  }
  return entry;
}

// stale makes the next look ask again; names may end in * for all that begin so.
function stale(...names) {
  const mark = (entry) => Object.assign(entry, { at: 0, again: true });
  for (const name of names) {
    if (name.endsWith('*')) {
      for (const key in state.cache) if (key.startsWith(name.slice(0, -1))) mark(state.cache[key]);
    } else if (state.cache[name]) mark(state.cache[name]);
  }
  changed();
}

// say shows a line for a moment, also to screen readers.
function say(text, bad) {
  state.toast = { text, bad: Boolean(bad), at: Date.now() };
  changed();
  setTimeout(() => {
    if (state.toast && state.toast.text === text) state.toast = null;
    changed();
  }, bad ? 9000 : 4000);
}

const monitorRows = () => (state.snapshot && state.snapshot.monitor && state.snapshot.monitor.rows) || [];
const inboxPart = () => (state.snapshot && state.snapshot.review_inbox) || { pending: [], recent_decisions: [], parse_errors: {} };
const colleagues = () => (state.snapshot && state.snapshot.colleagues) || [];
const agentName = (id) => {
  const agent = state.agents.find((a) => a.agent_id === id) || colleagues().find((c) => c.agent_id === id);
  return agent ? agent.name : id || none;
};
const teamName = (id) => {
  const team = state.teams.find((t) => t.team_id === id);
  return team ? team.name : id || '';
};
// begun says whether a run was ever launched: a new one has nothing but its making, and
// what was decided against its launch, in its log.
const begun = (row) => row.run_status !== 'running' || !!row.live_status || !row.last_event || !/^(run\.started|policy\.|budget\.)/.test(row.last_event.type);
const running = (row) => (row.live_status || row.run_status) === 'running' && begun(row);
const statusOf = (row) => !begun(row) ? 'new' : row.live_status || row.run_status || 'unknown';
