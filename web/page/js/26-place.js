// Restores the place after a reload of the tab: scroll positions, focus and caret, and unsent text.
// It is kept in the tab's session storage, and used only by a reload of the same address.

const placeKey = 'ac.place';
const placeFor = 5000; // ms after the start; later growth of a list should not scroll it

// The attributes that identify a focusable element, the most reliable first.
const placeMarks = ['id', 'data-need', 'data-run', 'data-person', 'data-file', 'data-finding', 'data-act', 'href'];

// selectorOf returns a selector for an element, or '' if it has no identifying attribute.
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
    // Without enough storage, the reload starts at the top.
  }
}

// returning is what remains to be restored. The rows of a list may not have arrived yet.
let returning = null;

// takePlace loads the place from before the reload.
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

// Any user action cancels the restoring.
for (const type of ['pointerdown', 'keydown', 'wheel', 'hashchange']) addEventListener(type, () => { returning = null; }, { capture: true, passive: true });
addEventListener('pagehide', holdPlace);

// restorePlace runs after each draw, until everything is restored.
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
