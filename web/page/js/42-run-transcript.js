// The transcript tab: items, find, and the message box.

const listName = (open) => 'transcript/' + open.id;

function transcriptTab(open) {
  const list = open.transcript.list();
  const box = speakingBox(open);
  placeSeq(open, list);
  if (!list.length) return [empty('No output yet', runLives(open) ? 'What the agent writes shows here as it comes.' : 'This run wrote nothing.'), box];
  const t = tallOf(listName(open));
  const name = open.id;
  return [
    open.reading && h('p', { class: 'older', role: 'status', key: 'older' }, 'Reading what came before…'),
    tallRows({
      name: listName(open), items: list, keyOf: (item) => item.item_id, row: (item) => itemView(open, item), guess: 64,
      attributes: { class: 'transcript', role: 'log', 'aria-live': 'off', 'aria-label': 'Transcript', tabindex: '0' },
      onstart: () => open.transcript.older && !open.reading && keepPlace(open, () => readOlder(open)),
      onplace: (key) => key && (open.newBelow = 0, rememberPlace(name, open.transcript.items.get(key))),
    }),
    newBelow(open, t, list), box,
  ];
}

// keepPlace reads older items, and keeps the visible item in view.
async function keepPlace(open, read) {
  const first = open.transcript.list()[0];
  await read();
  if (first && state.open === open && !tallOf(listName(open)).atEnd) revealRow(listName(open), first.item_id);
}

// newBelow shows how many items arrived since the end went out of view.
function newBelow(open, t, list) {
  if (t.atEnd) {
    open.seenTo = list.length;
    return null;
  }
  const n = list.length - (open.seenTo ?? list.length);
  return h('div', { class: 'newer', key: 'newer' }, h('button', { type: 'button', class: 'button', onclick: () => toEnd(listName(open)) }, n > 0 ? '··· ' + plural(n, 'new item') + ' below ···' : 'To the newest'));
}

// The scroll position of a run survives a reload, in this tab only.
function rememberPlace(id, item) {
  try {
    if (item) sessionStorage.setItem('ac.place/' + id, item.seq_first);
  } catch {
    // Without storage, a reload starts at the end.
  }
}

function rememberedPlace(id) {
  try {
    return +sessionStorage.getItem('ac.place/' + id) || 0;
  } catch {
    return 0;
  }
}

// placeSeq scrolls to the event in the address, once per address. After a reload it scrolls to the
// remembered position.
function placeSeq(open, list) {
  const wanted = +state.route.query.seq || 0;
  if (open.placed === undefined && !wanted) {
    open.placed = 0;
    const at = rememberedPlace(open.id);
    if (at) goToSeq(open, list, at, false);
    return;
  }
  if (open.placed === wanted) return;
  open.placed = wanted;
  open.marked = '';
  if (wanted) goToSeq(open, list, wanted, true);
}

function goToSeq(open, list, seq, mark) {
  const found = holding(list, seq);
  if (open.transcript.older && (!found || found === list[0])) {
    readOlder(open, true).then(() => state.open === open && goToSeq(open, open.transcript.list(), seq, mark));
    return;
  }
  if (!found) return;
  if (mark) open.marked = found.item_id;
  revealRow(listName(open), found.item_id);
}

// ---- Find

function transcriptTools(open) {
  const text = state.route.query.find || '';
  const hits = findHits(open, text);
  const at = hits.findIndex((item) => item.item_id === open.cursor);
  const type = (event) => {
    setQuery({ find: event.target.value });
    toFirstHit(open, event.target.value);
  };
  const step = (event) => {
    if (event.key !== 'Enter') return;
    event.preventDefault();
    stepHit(open, event.shiftKey ? -1 : 1);
  };
  return h('div', { class: 'run-tools' },
    h('input', { type: 'search', class: 'field', 'data-find': true, 'aria-label': 'Find in the transcript', placeholder: 'Find', value: text, oninput: type, onkeydown: step }),
    h('span', { class: 'find-count', 'data-find-count': true, role: 'status' }, text ? (at < 0 ? 0 : at + 1) + ' of ' + count(hits.length) : ''),
    button('Next error', () => stepError(1), { kind: 'chip', key: 'error', hint: 'e; E for the one before' }),
    button('Thoughts', () => { state.thoughts = !state.thoughts; open.unfolded.clear(); changed(); }, { kind: 'chip', key: 'thoughts', pressed: Boolean(state.thoughts) }),
    button('Follow', () => toEnd(listName(open)), { kind: 'chip', key: 'follow', pressed: tallOf(listName(open)).atEnd, hint: 'f' }));
}

// findHits returns the items that contain a text, and caches the last result.
function findHits(open, text) {
  if (!text.trim()) return [];
  const list = open.transcript.list();
  const known = open.found;
  if (!known || known.text !== text || known.list !== list || known.seq !== open.transcript.seq) open.found = { text, list, seq: open.transcript.seq, hits: itemsWith(list, text) };
  return open.found.hits;
}

// toFirstHit reads the whole run and goes to the first hit, unless the cursor is at a hit already.
async function toFirstHit(open, text) {
  if (text.trim()) await readOlder(open, true);
  const hits = findHits(open, text);
  if (state.open === open && text === (state.route.query.find || '') && hits.length && !hits.some((item) => item.item_id === open.cursor)) goToItem(open, hits[0]);
}

function goToItem(open, item) {
  open.cursor = item.item_id;
  open.unfolded.add(item.item_id + '+');
  revealRow(listName(open), item.item_id);
}

// stepIn moves the cursor to the next or previous of the given items, and wraps around.
function stepIn(open, items, by) {
  if (!items.length) return false;
  const list = open.transcript.list();
  const place = (id) => list.findIndex((item) => item.item_id === id);
  const here = place(open.cursor);
  const at = items.findIndex((item) => item.item_id === open.cursor);
  let next;
  if (at >= 0) next = (at + by + items.length) % items.length;
  else if (here < 0) next = by > 0 ? 0 : items.length - 1;
  else {
    const after = items.findIndex((item) => place(item.item_id) > here);
    next = by > 0 ? Math.max(0, after) : (after < 0 ? items.length : after) - 1;
    if (next < 0) next = items.length - 1;
  }
  goToItem(open, items[next]);
  return true;
}

const stepHit = (open, by) => stepIn(open, findHits(open, state.route.query.find || ''), by);

// stepError goes to the next or previous failed item.
async function stepError(by) {
  const open = state.open;
  if (!open || tabOfRun() !== 'transcript') return;
  if (open.transcript.older) await readOlder(open, true);
  if (!stepIn(open, open.transcript.list().filter(failedItem), by)) say('Nothing failed in this run.');
}
