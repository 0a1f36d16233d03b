// Long lists with rows of varying height. Only visible rows are in the document. Rows that were
// shown have measured heights; others have estimates.

const tall = new Map(); // by name

const beyond = 900; // pixels drawn above and below the visible part

function tallOf(name) {
  let t = tall.get(name);
  if (!t) {
    t = { heights: new Map(), top: 0, view: 900, atEnd: true, want: '', el: null, watch: null };
    tall.set(name, t);
  }
  return t;
}

const forgetTall = (...names) => names.forEach((name) => tall.delete(name));

// tallRows draws such a list. A list at its end stays there as it grows. onstart is called when its
// first row comes into view, onplace with the first visible row.
function tallRows({ name, items, keyOf, row, guess = 48, attributes = {}, onstart, onplace }) {
  const t = tallOf(name);
  const { heights } = t;
  const high = (item) => heights.get(keyOf(item)) || guess;
  const { from, to, above, below } = seenOf(t, items, keyOf, high);
  if (from === 0 && onstart && t.el) queueMicrotask(onstart);
  return h('div', {
    ...attributes, key: 'tall/' + name, class: 'scroller tall ' + (attributes.class || ''),
    mounted: (el) => beginTall(t, el, onplace),
    unmounted: () => {
      t.watch.disconnect();
      t.el = null;
    },
    onscroll: (event) => scrolledTall(t, event.target, onplace),
  },
  h('div', { key: 'above', class: 'tall-space', style: { height: above + 'px' } }),
  items.slice(from, to).map((item) => {
    const key = keyOf(item);
    return h('div', { key, class: 'tall-row', mounted: (el) => watchRow(t, el, key), unmounted: (el) => t.watch && t.watch.unobserve(el) }, row(item));
  }),
  h('div', { key: 'below', class: 'tall-space', style: { height: below + 'px' } }));
}

// seenOf returns the range of rows to draw, and the heights of the space above and below.
function seenOf(t, items, keyOf, high) {
  const n = items.length;
  let from = 0, above = 0, to = 0, below = 0;
  const wanted = t.want ? items.findIndex((item) => keyOf(item) === t.want) : -1;
  if (t.want && wanted >= 0) t.atEnd = false;
  if (t.atEnd || wanted >= 0) {
    to = t.atEnd ? n : Math.min(n, wanted + 1);
    from = to;
    for (let room = t.view + beyond; from > 0 && room > 0; room -= high(items[--from]));
    for (let room = t.view + beyond; to < n && room > 0; room -= high(items[to++]));
    for (let i = 0; i < from; i++) above += high(items[i]);
  } else {
    while (from < n && above + high(items[from]) < t.top - beyond) above += high(items[from++]);
    let at = above;
    for (to = from; to < n && at < t.top + t.view + beyond; at += high(items[to++]));
  }
  for (let i = to; i < n; i++) below += high(items[i]);
  if (wanted >= 0) requestAnimationFrame(() => showWanted(t));
  return { from, to, above, below };
}

function showWanted(t) {
  const el = t.el && t.want && [...t.el.children].find((row) => row.acKey === t.want);
  if (!el) return;
  t.want = '';
  el.scrollIntoView({ block: 'center' });
  t.top = t.el.scrollTop;
  changed();
}

// revealRow scrolls to a row.
function revealRow(name, key) {
  tallOf(name).want = key;
  changed();
}

// toEnd scrolls to the end, and follows it.
function toEnd(name) {
  const t = tallOf(name);
  t.atEnd = true;
  t.want = '';
  changed();
  requestAnimationFrame(() => t.el && (t.el.scrollTop = t.el.scrollHeight));
}

function beginTall(t, el, onplace) {
  t.el = el;
  t.view = el.clientHeight;
  const stick = () => {
    if (t.atEnd) el.scrollTop = el.scrollHeight;
  };
  t.watch = new ResizeObserver((entries) => {
    let grew = false;
    for (const { target, borderBoxSize } of entries) {
      if (target === el) {
        grew = grew || t.view !== el.clientHeight;
        t.view = el.clientHeight;
        continue;
      }
      const height = borderBoxSize[0].blockSize;
      if (!target.isConnected || t.heights.get(target.acKey) === height) continue;
      t.heights.set(target.acKey, height);
      grew = true;
    }
    stick();
    if (grew) changed();
  });
  t.watch.observe(el);
  for (const row of el.children) if (row.acKey) t.watch.observe(row);
  if (t.atEnd) stick();
  else el.scrollTop = t.top;
  if (onplace) onplace(null);
}

function watchRow(t, el, key) {
  el.acKey = key;
  if (t.watch) t.watch.observe(el);
}

function scrolledTall(t, el, onplace) {
  const before = t.top;
  const atEnd = el.scrollHeight - el.scrollTop - el.clientHeight < 40;
  t.top = el.scrollTop;
  const moved = Math.abs(before - t.top) > 8 || atEnd !== t.atEnd;
  if (t.want) return;
  // Growth at the end is not scrolling by a person.
  if (atEnd || t.top < before - 4) t.atEnd = atEnd;
  if (!moved) return;
  if (onplace) onplace(t.atEnd ? null : [...el.children].find((row) => row.acKey && row.offsetTop + row.offsetHeight > t.top)?.acKey);
  changed();
}
