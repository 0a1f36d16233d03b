// Keys. Single keys can be turned off, never act while a field has the focus, and never approve: a
// opens the note, and Ctrl+Enter decides.

const keyHelp = [
  ['1 … 9', 'go to a view'], ['0', 'all projects'], ['p', 'switch project'], ['c', 'start a run'], ['Ctrl+K', 'search and commands'], ['j  k', 'next, previous'], ['Enter', 'open'], ['Esc', 'back, close'], ['/', 'filter'],
  ['a  d', 'approve, deny (Needs you)'], ['x', 'choose (Needs you)'], ['u', 'restore what was dismissed'], ['s', 'stop the open run'], ['e  E', 'next, previous error of a run'], ['[  ]', 'tabs of a run'], ['f', 'follow a run'],
  ['n', 'write a note or a message'], ['r', 'read again'], ['t', 'light or dark'], ['Ctrl+Enter', 'send, decide'], ['?', 'this help'],
];

function openKeys() {
  openDialog({
    name: 'keys', title: 'Keys',
    body: () => [
      h('dl', { class: 'keys' }, keyHelp.map(([k, what]) => h('div', { key: k }, h('dt', {}, k.split('  ').map((one) => h('kbd', { key: one }, one))), h('dd', {}, what)))),
      check('keys', 'Single keys act (Ctrl+Enter, Ctrl+K and Esc always do)', state.keys, (on) => { state.keys = on; keep('keys', on ? 'on' : 'off'); }),
    ],
  });
}

const writing = (el) => el && (el.tagName === 'TEXTAREA' || el.tagName === 'SELECT' || el.isContentEditable || (el.tagName === 'INPUT' && el.type !== 'checkbox'));

// walk moves the focus through the list of the view. Enter opens.
function walk(by) {
  const { view, id } = state.route;
  if (view === 'needs') return stepNeed(by);
  if (view === 'now') return walkRuns(by);
  const links = [...document.querySelectorAll('main [data-walk], main a.channel, main [data-person]')];
  const at = links.findIndex((el) => el === document.activeElement || (id && el.getAttribute('href')?.includes(encodeURIComponent(id))));
  links[Math.min(links.length - 1, Math.max(0, at + by))]?.focus();
}

function walkRuns(by) {
  const ids = nowIds();
  const at = ids.indexOf(document.activeElement?.dataset?.run);
  const next = ids[Math.min(ids.length - 1, Math.max(0, at + by))];
  if (!next) return;
  revealItem('now', next);
  focusDrawn(() => document.querySelector('[data-run="' + CSS.escape(next) + '"]'), { preventScroll: true });
}

function goBack() {
  if (state.menu) closeMenu();
  else if (deciding.id) cancelDecision();
  else if (state.route.id) go(currentView());
  else return false;
  return true;
}

function onKey(event) {
  if ((event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === 'k') {
    event.preventDefault();
    if (state.palette) closePalette();
    else openPalette();
    return;
  }
  if (state.dialog || state.palette || state.switching) return;
  if (event.key === 'Escape') {
    // The first Esc leaves the field, the next one the view.
    if (writing(document.activeElement)) focusTitle();
    else if (goBack()) event.preventDefault();
    return;
  }
  if (!state.keys || event.ctrlKey || event.metaKey || event.altKey || writing(event.target)) return;
  const act = actionOf(event.key);
  if (!act) return;
  event.preventDefault();
  act();
}

function readAgain() {
  stale('*');
  tryNow();
  say('Read again.');
}

function actionOf(key) {
  const { view } = state.route;
  if (view === 'runs') {
    const act = runKey(key);
    if (act) return act;
  }
  if (/^[1-9]$/.test(key)) return () => go(navViews()[key - 1][0]);
  switch (key) {
    case '0': return () => go('projects');
    case '?': return openKeys;
    case 'p': return openSwitcher;
    case 'c': return () => go('start');
    case 'j': return () => walk(1);
    case 'k': return () => walk(-1);
    case 'r': return readAgain;
    case 't': return flipTheme;
    case '/': return () => document.querySelector('[data-filter], [data-find]')?.focus();
    case 'n': return () => focusDrawn(() => document.getElementById('field-note') || document.getElementById('field-colleagueNote') || document.querySelector('[data-compose], [data-steer]'));
    default: return view === 'needs' ? needKey(key) : null;
  }
}

function needKey(key) {
  const focused = document.activeElement?.dataset?.need;
  const id = focused || (chosenNeed(listedNeeds()) || [])[0];
  if (!id) return null;
  if (key === 'a') return () => beginDecision('approved');
  if (key === 'd') return () => beginDecision('denied');
  if (key === 'x') return () => chooseMany(id);
  if (key === 'u' && showsDismissed()) return () => restore([id]);
  return null;
}
