// The open run: its facts, its transcript, and the one stream that follows it.

const runTabs = [['transcript', 'Transcript'], ['changes', 'Changes'], ['log', 'Log'], ['events', 'Events'], ['notes', 'Notes']];

const tabOfRun = () => (runTabs.some(([id]) => id === state.route.tab) ? state.route.tab : 'transcript');

function openRun(id) {
  if (state.open && state.open.id === id) return state.open;
  closeRun();
  state.open = {
    id,
    project: '',
    begun: null, // the payload of run.started
    transcript: new Transcript(),
    continuable: null,
    begins: false, // reading has started
    loaded: false,
    error: '',
    missing: false,
    reading: null, // promise while older items are read
    unfolded: new Set(),
    shown: new Map(), // unmasked items, by id
    cursor: '', // the item that find or e selected
    log: null,
    events: null,
    stream: null,
    following: '', // the kind of the stream
    speaking: false,
    message: null,
    stale: 0,
  };
  stale('comments/' + id, 'policy/' + id, 'changes/' + id);
  beginRun(state.open);
  return state.open;
}

function closeRun() {
  if (!state.open) return;
  stopFollowing(state.open);
  forgetTall('transcript/' + state.open.id, 'log/' + state.open.id);
  state.open = null;
}

// beginRun reads the run as soon as the possible projects are known.
function beginRun(open) {
  if (open.begins || (!projectsOfRun(open.id).length && !store.ready)) return;
  open.begins = true;
  loadRun(open);
}

// projectsOfRun returns the projects that the run may belong to: that of its row or of the address,
// or all.
function projectsOfRun(id) {
  const row = rowOf('runs', id);
  const named = (row && row.p) || state.route.query.project || state.project;
  return named ? [named] : [...rowsOf('projects').keys()];
}

// loadRun reads the end of the transcript and follows it from there.
async function loadRun(open) {
  let failure = null;
  for (const project of projectsOfRun(open.id)) {
    try {
      const read = await call('run.transcript', { project_id: project, run_id: open.id, tail: newestItems });
      if (state.open !== open) return;
      takeRun(open, project, read);
      return;
    } catch (error) {
      failure = error;
    }
  }
  if (state.open !== open) return;
  open.error = failure ? failure.message : '';
  open.missing = !failure || failure.reason === 'not_found' || failure.status === 404;
  open.loaded = true;
  changed();
  if (open.missing) focusTitle();
}

function takeRun(open, project, read) {
  open.project = project;
  const { transcript } = open;
  transcript.page(read.items);
  transcript.seq = read.head_seq;
  transcript.older = read.dropped > 0;
  transcript.state = { status: read.status, activity: read.activity, turn: read.turn, session_ref: read.session_ref };
  open.continuable = read.continuable;
  open.loaded = true;
  open.error = '';
  followRun(open);
  if (!rowOf('runs', open.id)) readBegin(open);
  if (state.route.query.find) readOlder(open, true);
  changed();
}

// readBegin reads the facts of a run that is too old for the room's rows.
async function readBegin(open) {
  try {
    const read = await call('events.replay', { project_id: open.project, run_id: open.id, event_types: ['run.started'], limit: 1 });
    open.begun = read.events.length ? { ...read.events[0].event.payload, at: read.events[0].event.ts_wallclock } : {};
    changed();
  } catch {
    open.begun = {}; // only its name is missing
  }
}

// followRun keeps one stream, for the data of the current tab.
function followRun(open) {
  if (!open.project) return;
  const raw = tabOfRun() === 'log' || tabOfRun() === 'events';
  const of = raw ? 'events' : 'transcript';
  if (open.stream && open.following === of) return;
  stopFollowing(open);
  open.following = of;
  open.stream = raw ? followEvents(open) : followTranscript(open);
}

function stopFollowing(open) {
  if (open.stream) open.stream.stop();
  open.stream = null;
}

// A hidden tab keeps no stream.
addEventListener('ac:hidden', () => state.open && stopFollowing(state.open));
addEventListener('ac:seen', () => state.open && followRun(state.open));

const streamOfRun = (open, more) => '/api/stream?project_id=' + encodeURIComponent(open.project) + '&run_id=' + encodeURIComponent(open.id) + more;

function followTranscript(open) {
  let first = true;
  return follow(streamOfRun(open, '&view=transcript&since_seq=' + open.transcript.seq), {
    onframe(frame) {
      const said = frame.event === 'transcript' && parse(frame.data);
      if (!said) return;
      open.transcript.apply(said, first);
      first = false;
      if (said.op === 'state') renewed(open);
      if (said.item && said.item.state === 'closed' && (said.item.kind === 'file_change' || said.item.kind === 'tool')) staleChanges(open);
      changed();
    },
    onstate() {
      first = true;
    },
  });
}

// renewed asks again, after a state change, whether the run can continue.
function renewed(open) {
  clearTimeout(open.stale);
  open.stale = setTimeout(async () => {
    if (state.open !== open) return;
    try {
      const read = await call('run.transcript', { project_id: open.project, run_id: open.id, tail: 1 });
      open.continuable = read.continuable;
      if (!open.transcript.state.activity && read.continuable.reason === 'run_busy') renewed(open); // its session is about to end
      changed();
    } catch {
      open.continuable = null; // the next state change asks again
    }
  }, 300);
  staleChanges(open);
}

// readOlder reads items before the loaded ones: first more of the newest, then all. With all it
// reads everything at once.
async function readOlder(open, all) {
  while (open.reading) await open.reading;
  if (!open.transcript.older || state.open !== open) return;
  open.reading = readBefore(open, all);
  changed();
  await open.reading;
  open.reading = null;
  changed();
}

async function readBefore(open, all) {
  const { transcript } = open;
  try {
    const ask = (more) => call('run.transcript', { project_id: open.project, run_id: open.id, ...more });
    if (!all && transcript.items.size < 2000) {
      const read = await ask({ tail: Math.min(5000, transcript.items.size * 5) });
      transcript.page(read.items);
      transcript.older = read.dropped > 0;
    } else {
      const items = new Map();
      for (let since = 0, head = Infinity; since < head;) {
        const read = await ask({ since_seq: since, limit: 5000 });
        for (const item of read.items) items.set(item.item_id, item);
        if (read.next_seq <= since) break;
        since = read.next_seq;
        head = read.head_seq;
      }
      transcript.page(items.values());
      transcript.older = false;
    }
  } catch (error) {
    transcript.older = false; // prevents further attempts on scrolling
    say('Not read: ' + error.message, true);
  }
}

// aboutRun returns the known facts of the open run: its row, else the beginning of its log.
function aboutRun(open) {
  const row = rowOf('runs', open.id);
  const now = open.transcript.state;
  if (row) return { ...row, status: now && now.status && !open.loaded ? now.status : row.status };
  const begun = open.begun || {};
  return { p: open.project, agent: begun.agent_id, provider: begun.provider, started: begun.at, status: (now && now.status) || 'unknown' };
}

const runLives = (open) => {
  const now = open.transcript.state;
  return Boolean(now && now.status === 'running' && now.session_ref);
};

// stopRun ends the session of the open run.
async function stopRun(open) {
  await call('session.stop', { session_ref: (open.transcript.state && open.transcript.state.session_ref) || 'local_' + open.id });
  say('Asked the run to stop.');
}
