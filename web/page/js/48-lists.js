// Long lists in groups. Only visible rows are in the document. All rows of a group have the same
// height, and its head is sticky.
//
//   groupedList({name, label, groups})
//     groups: [{id, title, count, aside, items, height, row(item), keyOf(item), after}]
//   revealItem(name, id)   scrolls the list to the row of an item

const groupHead = 40;
const folded = new Set((memory.get('folded') || '').split(',').filter(Boolean));
const listShapes = new Map(); // by name: the position of each item

function foldGroup(id) {
  if (folded.has(id)) folded.delete(id);
  else folded.add(id);
  memory.set('folded', [...folded].join(','));
  changed();
}

function groupedList({ name, label, groups }) {
  const seen = state.scroll[name] || { top: 0, height: innerHeight };
  const places = new Map();
  let top = 0;
  const sections = groups.map((group) => {
    const open = !folded.has(group.id);
    const items = open ? group.items : [];
    const begins = top + groupHead;
    items.forEach((item, i) => places.set(group.keyOf(item), { top: begins + i * group.height, height: group.height }));
    const section = groupView(group, open, items, seen.top - begins, seen.height);
    top = begins + items.length * group.height + (group.after ? groupHead : 0);
    return section;
  });
  placeRows(name, places);
  return h('div', { class: 'list', key: 'list/' + name, id: 'list-' + name, role: 'group', 'aria-label': label, tabindex: '0', ...keepsScroll(name) }, sections);
}

// placeRows records the positions of the rows of a list. It keeps the row under the pointer or with
// the focus in place on the screen, by scrolling when rows above it change.
let pointedRow = '';
addEventListener('pointerover', (event) => {
  const row = event.target.closest?.('[data-run], [data-need]');
  pointedRow = row ? row.dataset.run || row.dataset.need : '';
});

function placeRows(name, places) {
  const before = listShapes.get(name);
  listShapes.set(name, places);
  const held = pointedRow || document.activeElement?.dataset?.run || document.activeElement?.dataset?.need;
  const was = held && before?.get(held);
  const now = places.get(held);
  if (was && now && was.top !== now.top) queueMicrotask(() => scrollRows(document.getElementById('list-' + name), now.top - was.top));
}

function scrollRows(el, by) {
  if (!el) return;
  const last = el.lastElementChild;
  const missing = el.scrollTop + by + el.clientHeight - (last.offsetTop - el.offsetTop + last.offsetHeight);
  if (missing > 0) last.style.marginBottom = missing + 'px'; // makes a short list scrollable
  el.scrollTop += by;
}

const overscan = 5;

function groupView(group, open, items, offset, height) {
  const from = Math.max(0, Math.floor(offset / group.height) - overscan);
  const to = Math.min(items.length, Math.ceil((offset + height) / group.height) + overscan);
  const rows = [];
  for (let i = from; i < to; i++) rows.push(h('li', { key: group.keyOf(items[i]), class: 'list-row', style: placed(i, group.height), 'aria-setsize': items.length, 'aria-posinset': i + 1 }, group.row(items[i], i)));
  return h('section', { key: group.id, class: 'group', 'data-group': group.id, 'data-count': group.count, 'aria-labelledby': 'group-' + group.id },
    h('div', { class: 'group-head' },
      h('h2', { id: 'group-' + group.id }, h('button', { type: 'button', class: 'group-fold', 'aria-expanded': String(open), onclick: () => foldGroup(group.id) }, group.title + ' ', h('span', { class: 'group-count' }, count(group.count)))),
      group.aside),
    open && items.length > 0 && h('ul', { class: 'group-rows', style: { height: items.length * group.height + 'px' } }, rows),
    open && group.after);
}

// keepsScroll returns the properties of an element that scrolls virtual rows.
function keepsScroll(name) {
  const keep = (el) => {
    const next = { top: el.scrollTop, height: el.clientHeight };
    const before = state.scroll[name];
    if (before && Math.abs(before.top - next.top) < 60 && before.height === next.height) return;
    state.scroll[name] = next;
    changed();
  };
  return {
    onscroll: (event) => keep(event.currentTarget || event.target),
    mounted: (el) => {
      el.acSize = new ResizeObserver(() => keep(el));
      el.acSize.observe(el);
      const seen = state.scroll[name];
      if (seen && seen.top) el.scrollTop = seen.top;
    },
    unmounted: (el) => el.acSize && el.acSize.disconnect(),
  };
}

function revealItem(name, id) {
  const el = document.getElementById('list-' + name);
  const place = listShapes.get(name)?.get(id);
  if (!el || !place) return;
  if (place.top - groupHead < el.scrollTop) el.scrollTop = place.top - groupHead;
  else if (place.top + place.height > el.scrollTop + el.clientHeight) el.scrollTop = place.top + place.height - el.clientHeight;
}
