// What the page knows beside the rows. Everything shown follows from both and from now.

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
  project: boot.project_id || '', // '' for all
  actor: boot.actor_id || 'human',
  role: boot.actor_role || 'manager',
  version: boot.version || '',
  route: { view: 'now', id: '', tab: '', query: {} },
  link: 'connecting', // connecting, live, lost
  lostAt: 0,
  now: Date.now(),
  open: null, // the run that is shown
  dialog: null, // see openDialog
  palette: null,
  switching: null,
  menu: false,
  toast: null,
  theme: memory.get('theme') || 'auto',
  keys: memory.get('keys') !== 'off',
  fields: {}, // what inputs hold, by name
  scroll: {}, // positions of virtual lists, by name
  cache: {}, // answers by name: {value, error, at, busy}
};

let drawing = false;
let drawWaits = 0; // the timer until a drawing may begin
let drawnAt = 0;
let stateRev = 0;

// generalRev is what a part is drawn anew for, whatever it read: acts of the person and
// answers of the server. Frames of rows don't raise it.
const generalRev = (one) => (one.name.startsWith('=') ? 0 : stateRev);

// changed draws everything soon; drawSoon only the parts that are marked.
function changed() {
  stateRev++;
  drawSoon();
}

// acted draws everything with the next frame: who does something does not wait for a turn.
function acted() {
  stateRev++;
  drawNext();
}

// At most 25 times a second.
function drawSoon() {
  if (drawing) return;
  const due = drawnAt + 40 - performance.now();
  if (due <= 0) return drawNext();
  drawing = true;
  drawWaits = setTimeout(drawNext, due);
}

function drawNext() {
  if (drawing && !drawWaits) return;
  clearTimeout(drawWaits);
  drawing = true;
  drawWaits = 0;
  requestAnimationFrame(drawNow);
}

function drawNow() {
  drawing = false;
  drawnAt = performance.now();
  state.now = Date.now();
  drawRev++;
  const focused = document.activeElement;
  draw();
  restorePlace();
  // The focus never falls to the body: what had it may be gone.
  if (focused && focused !== document.body && !focused.isConnected) firstTitle()?.focus({ preventScroll: true });
  forgetParts();
  showClocks();
}

// fetched returns what is known under a name and asks for it when that is missing
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
        entry.data = error.data;
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
