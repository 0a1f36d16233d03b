// Where one is, kept over a reload of the tab: how far lists are scrolled, what has the focus
// with its caret, and what was written and not sent. It lies in the storage of the tab alone,
// and is used by a reload of the same address only.

const placeKey = 'ac.place';
const placeFor = 5000; // ms after the beginning: later, a list that grew is no reason to scroll

// The attributes that name what can have the focus, the surest first.
const placeMarks = ['id', 'data-need', 'data-run', 'data-person', 'data-file', 'data-finding', 'data-act', 'href'];

// selectorOf is a selector of an element, as narrow as its names allow; '' where it has none.
function selectorOf(el) {
  const mark = el && el !== document.body && placeMarks.find((name) => el.getAttribute(name));
  if (!mark) return '';
  const within = el.closest('main') ? 'main ' : '';
  return within + '[' + mark + '="' + CSS.escape(el.getAttribute(mark)) + '"]';
}

function holdPlace() {
  const el = document.activeElement;
  const caret = writing(el) && typeof el.selectionStart === 'number' ? [el.selectionStart, el.selectionEnd] : null;
  const scroll = {};
  for (const name in state.scroll) scroll[name] = state.scroll[name].top;
  const { id, decision } = deciding;
  try {
    sessionStorage.setItem(placeKey, JSON.stringify({ hash: location.hash, scroll, fields: state.fields, focus: selectorOf(el), caret, deciding: { id, decision } }));
  } catch {
    // No storage, or more written than it holds: the reload begins at the top.
  }
}

// returning is what is still to be restored: rows that a list needs may not have come yet.
let returning = null;

// takePlace begins where the tab was before it was reloaded.
function takePlace() {
  let kept = null;
  try {
    kept = parse(sessionStorage.getItem(placeKey) || '');
    sessionStorage.removeItem(placeKey);
  } catch {
    return;
  }
  const [navigation] = performance.getEntriesByType('navigation');
  if (!kept || !navigation || navigation.type !== 'reload' || kept.hash !== location.hash) return;
  Object.assign(state.fields, kept.fields);
  Object.assign(deciding, kept.deciding);
  for (const name in kept.scroll) state.scroll[name] = { top: kept.scroll[name], height: innerHeight };
  returning = { scroll: kept.scroll, focus: kept.focus, caret: kept.caret, until: performance.now() + placeFor };
}

// What the person does now counts more than what was.
for (const type of ['pointerdown', 'keydown', 'wheel', 'hashchange']) addEventListener(type, () => { returning = null; }, { capture: true, passive: true });
addEventListener('pagehide', holdPlace);

// restorePlace is called after each draw, until all is as it was.
function restorePlace() {
  if (!returning) return;
  const { scroll, focus, caret, until } = returning;
  for (const name in scroll) {
    const el = document.getElementById('list-' + name) || document.getElementById('rows-' + name);
    if (!el) continue;
    el.scrollTop = scroll[name];
    if (Math.abs(el.scrollTop - scroll[name]) < 2) delete scroll[name];
  }
  const el = focus && document.querySelector(focus);
  if (el) {
    el.focus({ preventScroll: true });
    if (caret && writing(el)) el.setSelectionRange(...caret);
    returning.focus = '';
  }
  if (performance.now() > until || (!Object.keys(scroll).length && !returning.focus)) returning = null;
}
