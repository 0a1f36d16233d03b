// The log of a run: its program's output in colour, line by line. It reads the end first, and older
// lines as one scrolls up.

const logLines = 2000;
const mostLogLines = 50000;

// readEvents reads the events of a run between two seqs, page by page.
async function readEvents(open, since, until, types) {
  const out = [];
  for (let from = since; from < until;) {
    const read = await call('events.replay', { project_id: open.project, run_id: open.id, since_seq: from, until_seq: until, limit: 1000, ...(types ? { event_types: types } : {}) });
    out.push(...read.events);
    if (!read.more || read.next_seq <= from) break;
    from = read.next_seq;
  }
  return out;
}

// LogText splits the output of streams into lines. A chunk may end within a line.
class LogText {
  constructor() {
    this.lines = [];
    this.last = {}; // by stream: the incomplete line
    this.colours = {}; // by stream: the colour codes that carry over to the next line
    this.n = 0;
  }

  take(seq, payload) {
    const stream = payload.stream || 'stdout';
    String(payload.chunk ?? '').split('\n').forEach((piece, i, all) => {
      if (i === 0 && this.last[stream]) this.grow(stream, piece);
      else if (piece !== '' || i < all.length - 1) this.lines.push((this.last[stream] = { key: seq + '.' + this.n++, seq, stream, raw: piece, before: this.colours[stream] || '', shown: null }));
      if (i < all.length - 1) this.end(stream);
    });
  }

  end(stream) {
    const { raw, before } = this.last[stream];
    this.last[stream] = null;
    if (!raw.includes('\x1b[')) return;
    let held = before;
    for (const [code, words] of raw.matchAll(/\x1b\[([0-9;:]*)m/g)) held = words === '' || /(^|;)0*$/.test(words) ? '' : (held + code).slice(-200);
    this.colours[stream] = held;
  }

  grow(stream, piece) {
    const line = this.last[stream];
    if (!piece) return;
    const grown = { ...line, raw: line.raw + piece, shown: null };
    this.lines[this.lines.lastIndexOf(line)] = grown;
    this.last[stream] = grown;
  }
}

async function readLog(open) {
  const text = new LogText();
  const log = (open.log = { text, from: 0, older: false, busy: true, error: '', early: [], wrap: true });
  try {
    const { head_seq: head } = await call('events.replay', { project_id: open.project, run_id: open.id, since_seq: 0, limit: 1, event_types: ['provider.raw'] });
    let events = [];
    log.from = head;
    for (let window = logLines; log.from > 0 && events.length < logLines; window *= 2) {
      const since = Math.max(0, log.from - window);
      events = [...(await readEvents(open, since, log.from, ['provider.raw'])), ...events];
      log.from = since;
    }
    if (open.log !== log) return;
    for (const { seq, event } of events) text.take(seq, event.payload || {});
    open.eventsTo = Math.max(open.eventsTo || 0, head);
    for (const { seq, event } of log.early) if (seq > head) text.take(seq, event.payload || {});
    log.older = log.from > 0;
  } catch (error) {
    log.error = error.message;
  }
  log.busy = false;
  changed();
}

async function readOlderLog(open) {
  const { log } = open;
  if (log.busy || !log.older) return;
  log.busy = true;
  try {
    const since = Math.max(0, log.from - logLines);
    const before = new LogText();
    for (const { seq, event } of await readEvents(open, since, log.from, ['provider.raw'])) before.take(seq, event.payload || {});
    const first = log.text.lines[0];
    log.text.lines = [...before.lines, ...log.text.lines];
    log.from = since;
    log.older = since > 0;
    if (first && !tallOf('log/' + open.id).atEnd) revealRow('log/' + open.id, first.key);
  } catch (error) {
    log.error = error.message;
    log.older = false;
  }
  log.busy = false;
  changed();
}

function logTakes(open, seq, event) {
  const { log } = open;
  if (!log || event.type !== 'provider.raw') return;
  if (log.busy) {
    log.early.push({ seq, event });
    return;
  }
  log.text.take(seq, event.payload || {});
  if (log.text.lines.length > mostLogLines) {
    log.text.lines.splice(0, mostLogLines / 5);
    log.older = true;
    log.from = log.text.lines[0].seq - 1;
  }
}

function logTab(open) {
  if (!open.log) queueMicrotask(() => !open.log && readLog(open));
  const { log } = open;
  if (!log || (log.busy && !log.text.lines.length)) return loading('Reading the log…');
  if (log.error && !log.text.lines.length) return fault(log.error, () => readLog(open));
  const { lines } = log.text;
  const name = 'log/' + open.id;
  const colours = logColours();
  const flip = () => {
    log.wrap = !log.wrap;
    tallOf(name).heights.clear();
    changed();
  };
  return [
    h('div', { class: 'run-tools', key: 'tools' }, h('span', { class: 'quiet' }, plural(lines.length, 'line') + (log.older ? ', older ones as you scroll up' : '')),
      button('Wrap', flip, { kind: 'chip', key: 'wrap', pressed: log.wrap }),
      button('Follow', () => toEnd(name), { kind: 'chip', key: 'follow', pressed: tallOf(name).atEnd, hint: 'f' }),
      button('Download', () => downloadLog(open), { kind: 'chip', key: 'download' })),
    !lines.length ? empty('Nothing was written', 'What the program writes shows here as it comes.')
      : tallRows({
        name, items: lines, keyOf: (line) => line.key, guess: 19, onstart: () => log.older && readOlderLog(open),
        row: (line) => h('div', { class: 'log-line ' + line.stream }, h('span', { class: 'log-stream' }, line.stream === 'stderr' ? 'err' : 'out'), h('span', { class: 'log-text' }, logPieces(line, colours))),
        attributes: { class: 'log' + (log.wrap ? '' : ' straight'), role: 'log', 'aria-live': 'off', 'aria-label': 'Log', tabindex: '0', 'data-log': true },
      }),
  ];
}

// ---- Colours

let ansiClass; // the escape code parser; null while it loads

// logColours returns that parser's class, or null until it has loaded.
function logColours() {
  if (ansiClass === undefined) loadColours();
  return ansiClass;
}

async function loadColours() {
  ansiClass = null;
  try {
    ansiClass = colourReader((await vendoredModule('ansi_up.js')).AnsiUp);
    changed();
  } catch {
    // Without the parser, the log has no colours.
  }
}

// colourReader collects pieces instead of markup, so that no markup is ever made.
const colourReader = (AnsiUp) => class extends AnsiUp {
  read(text) {
    this.pieces = [];
    this._buffer = '';
    this.ansi_to_html(text);
    return this.pieces;
  }

  transform_to_html({ text, fg, bg, bold, faint, italic, underline }) {
    if (text) this.pieces.push({ text, fg, bg, bold, faint, italic, underline });
    return '';
  }

  process_hyperlink({ url, text }) {
    this.pieces.push({ text, href: url });
    return '';
  }
};

function logPieces(line, Colours) {
  if (line.shown && line.colours === Boolean(Colours)) return line.shown;
  line.colours = Boolean(Colours);
  const raw = line.before + line.raw;
  if (!Colours || !raw.includes('\x1b')) line.shown = shownText(line.raw);
  else line.shown = new Colours().read(sgrOnly(raw)).map(logPiece);
  return line.shown;
}

function logPiece({ text, href, fg, bg, ...look }, i) {
  if (href !== undefined) {
    const url = safeAddress(href);
    return url ? h('span', { key: i }, h('a', { href: url.href, target: '_blank', rel: 'noopener noreferrer nofollow' }, shownText(text)), ' (' + (url.host || url.pathname) + ')') : shownText(text);
  }
  const classes = [], style = {};
  for (const [colour, end, rule] of [[fg, '-fg', 'color'], [bg, '-bg', 'background-color']]) {
    if (!colour) continue;
    if (colour.class_name === 'truecolor') style[rule] = 'rgb(' + colour.rgb.join(',') + ')';
    else classes.push(colour.class_name + end);
  }
  for (const name of ['bold', 'faint', 'italic', 'underline']) if (look[name]) classes.push('ansi-' + name);
  if (!classes.length && !Object.keys(style).length) return shownText(text);
  return h('span', { key: i, class: classes.join(' ') || undefined, style }, shownText(text));
}

// downloadLog saves the whole log, as the server masks it.
async function downloadLog(open) {
  try {
    const events = await readEvents(open, 0, Number.MAX_SAFE_INTEGER, ['provider.raw']);
    const text = events.map(({ event }) => String((event.payload || {}).chunk ?? '')).join('');
    const address = URL.createObjectURL(new Blob([text], { type: 'text/plain' }));
    const a = document.createElement('a');
    a.href = address;
    a.download = open.id + '.log.txt';
    a.click();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
  } catch (error) {
    say('Not saved: ' + error.message, true);
  }
}
