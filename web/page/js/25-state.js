// The page's own state. Everything shown follows from it, the rows, and the current time.

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
      // A page framed by another site may have no storage. The setting then holds until the page
      // closes.
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
  open: null, // the open run
  dialog: null, // see openDialog
  palette: null,
  switching: null,
  menu: false,
  toast: null,
  theme: memory.get('theme') || 'auto',
  keys: memory.get('keys') !== 'off',
  fields: {}, // texts of inputs, by name
  scroll: {}, // positions of virtual lists, by name
  cache: {}, // responses by name: {value, error, at, busy}
};

let drawing = false;
let drawWaits = 0; // the timer for a delayed draw
let drawnAt = 0;
let stateRev = 0;

// generalRev invalidates a part whatever it read. It grows with user actions and server responses,
// not with frames of rows.
const generalRev = (one) => (one.name.startsWith('=') ? 0 : stateRev);

// changed redraws everything soon; drawSoon redraws only the marked parts.
function changed() {
  stateRev++;
  drawSoon();
}

// acted redraws everything with the next frame, so that user actions are not delayed.
function acted() {
  stateRev++;
  drawNext();
}

// drawSoon draws at most 25 times a second.
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
  // If the focused element is gone, focus the title, never the body.
  if (focused && focused !== document.body && !focused.isConnected) firstTitle()?.focus({ preventScroll: true });
  forgetParts();
  showClocks();
}

// fetched returns a cached response, and requests a new one if it is missing or older than age
// (ms). The old response stays until the new one arrives.
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
      entry.at = entry.again ? 0 : Date.now(); // invalidated during the request
      changed();
    });
  }
  return entry;
}

// stale invalidates cached responses. A name that ends in * matches a prefix.
function stale(...names) {
  const mark = (entry) => Object.assign(entry, { at: 0, again: true });
  for (const name of names) {
    if (name.endsWith('*')) {
      for (const key in state.cache) if (key.startsWith(name.slice(0, -1))) mark(state.cache[key]);
    } else if (state.cache[name]) mark(state.cache[name]);
  }
  changed();
}

// say shows a line for a few seconds, and reads it to screen readers.
function say(text, bad) {
  state.toast = { text, bad: Boolean(bad), at: Date.now() };
  changed();
  setTimeout(() => {
    if (state.toast && state.toast.text === text) state.toast = null;
    changed();
  }, bad ? 9000 : 4000);
}
