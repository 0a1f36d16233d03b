// The rows of the room, and the parts that read them.
//
//   rowOf(table, key)      a row or undefined. Rows are immutable: a change replaces the row,
//                          so that === compares rows
//   rowsOf(table)          a Map of key to row. Read it and don't keep it
//   tableRev(table)        a number that grows with each change of the table
//   part(name, inputs, f)  the node of f(), redrawn only when an input, or a row that f read,
//                          has changed. Names are unique while drawn
//   freshRow(table, key)   whether it changed while the link was lost (for 5 s)
//
// Tables and fields are those of room.read. Each part records what it read, so a frame redraws only
// the parts that read what it changes.

const store = { epoch: '', rev: 0, at: 0, offset: 0, ready: false, tables: new Map(), revs: new Map(), fresh: new Set() };

const noRows = new Map();
const tableOf = (name, make) => {
  let table = store.tables.get(name);
  if (!table && make) store.tables.set(name, (table = new Map()));
  return table || noRows;
};

// The part being drawn, and all parts by name.
let drawingPart = null;
const parts = new Map();

const reads = (what) => drawingPart && drawingPart.reads.add(what);

function rowOf(table, key) {
  reads(table + '/' + key);
  return tableOf(table).get(key);
}

function rowsOf(table) {
  reads(table);
  return tableOf(table);
}

function tableRev(table) {
  reads(table);
  return store.revs.get(table) || 0;
}

const sameInputs = (a, b) => a.length === b.length && a.every((one, i) => Object.is(one, b[i]));

function part(name, inputs, render) {
  let known = parts.get(name);
  if (known && !known.dirty && known.general === generalRev(known) && sameInputs(known.inputs, inputs)) {
    known.seen = drawRev;
    for (const child of known.within) keepPart(child);
    if (drawingPart) drawingPart.within.add(name);
    return known.node;
  }
  if (!known) parts.set(name, (known = { name }));
  Object.assign(known, { inputs, dirty: false, reads: new Set(), within: new Set(), outer: drawingPart, seen: drawRev, general: generalRev(known) });
  if (drawingPart) drawingPart.within.add(name);
  const outer = drawingPart;
  drawingPart = known;
  try {
    known.node = render();
  } finally {
    drawingPart = outer;
  }
  return known.node;
}

// Keeping the node of a part keeps the parts inside it.
function keepPart(name) {
  const known = parts.get(name);
  if (!known) return;
  known.seen = drawRev;
  for (const child of known.within) keepPart(child);
}

let drawRev = 0;
const forgetParts = () => {
  for (const [name, one] of parts) if (one.seen !== drawRev) parts.delete(name);
};

// touched marks the parts that read a changed row, and the parts around them.
function touched(changes) {
  let any = false;
  for (const one of parts.values()) {
    if (one.dirty || !changes.some(([table, key]) => one.reads.has(table) || one.reads.has(table + '/' + key))) continue;
    for (let at = one; at && !at.dirty; at = at.outer) at.dirty = true;
    any = true;
  }
  return any;
}

// mergeRow returns a row with changed fields. A null field is removed.
function mergeRow(row, fields) {
  const next = { ...row };
  for (const name in fields) {
    if (fields[name] === null) delete next[name];
    else next[name] = fields[name];
  }
  return next;
}

// applyRows applies the changes of a frame, and returns the changed keys.
function applyRows({ set, del }) {
  const changes = [];
  for (const [table, key, fields] of set || []) {
    const rows = tableOf(table, true);
    rows.set(key, mergeRow(rows.get(key), fields));
    changes.push([table, key]);
  }
  for (const [table, key] of del || []) {
    const row = tableOf(table).get(key);
    if (!row) continue;
    tableOf(table).delete(key);
    changes.push([table, key, row]);
  }
  for (const [table] of changes) store.revs.set(table, (store.revs.get(table) || 0) + 1);
  return changes;
}

// replaceRows makes the tables hold exactly the given rows, and returns the changed keys. Equal
// rows stay the same objects.
function replaceRows(set, tables) {
  const wanted = new Map();
  for (const [table, key, fields] of set) {
    if (!wanted.has(table)) wanted.set(table, new Map());
    wanted.get(table).set(key, fields);
  }
  const change = { set: [], del: [] };
  for (const [table, rows] of store.tables) {
    if (tables && !tables.includes(table)) continue;
    for (const key of rows.keys()) if (!wanted.get(table)?.has(key)) change.del.push([table, key]);
  }
  for (const [table, rows] of wanted) {
    for (const [key, fields] of rows) {
      const old = tableOf(table).get(key);
      if (old && JSON.stringify(old) === JSON.stringify(fields)) continue;
      const ceased = {};
      for (const name in old || {}) if (!(name in fields)) ceased[name] = null;
      change.set.push([table, key, { ...ceased, ...fields }]);
    }
  }
  return applyRows(change);
}

// RowReader applies the frames of one stream. If rows are shown already, it collects a full set
// before applying it, so that the screen changes once.
class RowReader {
  constructor({ light } = {}) {
    this.light = light;
    this.gathered = null;
    this.returning = false; // the next frame is the first after a lost link
  }

  take(frame) {
    if (frame.full) this.gathered = [];
    if (this.gathered) {
      this.gathered.push(...frame.set);
      if (frame.more && store.ready) return;
    }
    const before = this.returning ? new Map([...store.tables].map(([name, rows]) => [name, new Map(rows)])) : null;
    const changes = this.gathered ? replaceRows(this.gathered, this.light ? lightTables : null) : applyRows(frame);
    if (!frame.more) this.gathered = null;
    if (!this.light) Object.assign(store, { rev: frame.rev, ready: true });
    store.at = frame.at;
    store.offset = frame.at - Date.now();
    if (before) markFresh(changes, before);
    this.returning = false;
    // Before the first rows, every part shows that it waits for them.
    if (frame.full) changed();
    else if (touched(changes)) drawSoon();
    noticeRows(changes, !frame.more);
  }
}

const lightTables = ['needs', 'counts'];

// Rows that changed while the link was lost are marked for some seconds.
const freshFor = 5000;

function markFresh(changes, before) {
  for (const [table, key] of changes) if (before.get(table)?.get(key) !== tableOf(table).get(key)) store.fresh.add(table + '/' + key);
  if (!store.fresh.size) return;
  setTimeout(() => {
    store.fresh.clear();
    changed();
  }, freshFor);
}

const freshRow = (table, key) => store.fresh.has(table + '/' + key);

// ---- Properties of rows

const personName = (id) => tableOf('people').get(id)?.name || id || none;
const isLive = (row) => row.status === 'running' && !!row.started && !row.ended;
const isNew = (row) => row.status === 'running' && !row.started;
