// The frame around the views: where one is, what waits, who is there, how fresh
// it all is; and the keys.

const views = [
  ['now', 'Now', 'Run Monitor', nowView],
  ['pending', 'Needs you', 'Pending Approvals', needsView],
  ['decisions', 'Decided', 'Recent Decisions', decisionsView],
  ['plan', 'Plan', '', planView],
  ['people', 'People', '', peopleView],
  ['talk', 'Talk', '', talkView],
  ['cost', 'Cost', '', costView],
  ['health', 'Health', '', healthView],
];

const hashOf = (view) => '#/' + view;

function counts() {
  const inbox = inboxPart();
  return { now: monitorRows().length, pending: inbox.pending.length + openAsks().length, decisions: inbox.recent_decisions.length };
}

function navLinks(n) {
  const live = monitorRows().filter(running).length;
  const current = state.route.view === 'runs' ? 'now' : state.route.view;
  return views.map(([id, name, under]) => {
    const badge = id === 'now' ? live || n.now : n[id];
    return h('a', { key: id, class: 'nav-link' + (current === id ? ' chosen' : ''), href: hashOf(id), 'aria-current': current === id ? 'page' : undefined, onclick: () => { state.menu = false; changed(); } },
      icon(id), h('span', { class: 'nav-name' }, name, under && h('span', { class: 'nav-under' }, under)),
      known(badge) && badge > 0 && h('span', { class: 'badge' + (id === 'pending' ? ' calls' : id === 'now' && live ? ' live' : ''), 'aria-label': id === 'now' ? (live ? live + ' live' : plural(badge, 'run')) : count(badge) }, count(badge)));
  });
}

function colleagueLinks() {
  const list = colleagues();
  return h('nav', { class: 'colleagues', 'aria-label': 'Colleagues', key: 'colleagues' }, h('h2', {}, 'Colleagues'),
    list.length ? list.slice(0, 40).map((c) => h('a', { key: c.agent_id, class: 'colleague' + (state.route.view === 'people' && state.route.id === c.agent_id ? ' chosen' : ''), href: '#/people/' + encodeURIComponent(c.agent_id), onclick: () => { state.menu = false; } },
      h('span', { class: 'dot ' + (tones[c.status] || ''), role: 'img', 'aria-label': words(c.status) }), h('span', { class: 'colleague-name' }, c.name, h('span', {}, c.role)),
      (c.pending_reviews || c.active_runs) > 0 && h('span', { class: 'badge', title: c.pending_reviews ? 'pending reviews' : 'active runs' }, count(c.pending_reviews || c.active_runs))))
      : h('p', { class: 'quiet' }, 'Nobody yet'),
    list.length > 40 && h('a', { class: 'colleague', href: '#/people', key: 'more' }, h('span', { class: 'colleague-name' }, 'and ' + count(list.length - 40) + ' more')));
}

function footer() {
  const worker = state.snapshot && state.snapshot.index_sync_worker;
  const faults = inboxPart().parse_errors || {};
  return h('div', { class: 'side-foot', key: 'foot' },
    h('p', { class: 'link-state ' + state.link, role: 'status' }, dot(state.link === 'live' ? 'good' : state.link === 'lost' ? 'bad' : 'warn'), sentence(linkWords()), state.snapshot && h('span', { class: 'quiet' }, ' · ' + clock(state.snapshot.generated_at))),
    worker && h('p', { class: 'quiet' }, 'Sync worker ' + (worker.enabled ? 'on' : 'off') + (worker.pending_workspaces ? ', ' + count(worker.pending_workspaces) + ' pending' : '')),
    h('p', { class: faults.has_parse_errors ? 'bad-text' : 'quiet' }, faults.has_parse_errors ? 'Parse alerts: ' + count(faults.pending_with_errors) + ' pending, ' + count(faults.decisions_with_errors) + ' decisions, at most ' + count(faults.max_parse_error_count) : 'No parse alerts'),
    h('div', { class: 'side-buttons' }, h('button', { type: 'button', class: 'button', onclick: () => { refresh(); stale('*'); say('Refreshed.'); } }, icon('refresh'), 'Refresh'),
      iconButton(dark() ? 'sun' : 'moon', dark() ? 'Light theme' : 'Dark theme', flipTheme), iconButton('help', 'Keys', () => { state.help = true; changed(); })));
}

const brand = () => h('div', { class: 'brand', key: 'brand' }, h('svg', { class: 'mark', viewBox: '0 0 32 32', 'aria-hidden': 'true' }, h('rect', { width: 32, height: 32, rx: 8 }), h('path', { d: 'M7 21h4l3.5-11 4 13 2.5-7H25' })),
  h('div', {}, h('p', { class: 'brand-name' }, 'AgentCompany'), h('p', { class: 'brand-who' }, state.project + ' · ' + state.actor + ' (' + state.role + ')')));

function shell() {
  const n = counts();
  const view = views.find(([id]) => id === (state.route.view === 'runs' ? 'now' : state.route.view)) || views[0];
  return [
    h('a', { class: 'skip', href: '#main', key: 'skip', onclick: (e) => { e.preventDefault(); document.getElementById('main').focus(); } }, 'Skip to the content'),
    h('div', { class: 'frame' + (state.menu ? ' menu-open' : ''), key: 'frame', inert: state.help },
      h('header', { class: 'top', key: 'top' }, iconButton('menu', 'Menu', () => { state.menu = !state.menu; changed(); }, { 'aria-expanded': String(state.menu) }), h('span', { class: 'top-title' }, view[1]), h('span', { class: 'top-link' }, dot(state.link === 'live' ? 'good' : state.link === 'lost' ? 'bad' : 'warn'), sentence(linkWords()))),
      state.menu && h('div', { class: 'veil', key: 'veil', onclick: () => { state.menu = false; changed(); } }),
      h('div', { class: 'side', key: 'side' }, brand(), h('nav', { class: 'nav', 'aria-label': 'Views', key: 'nav' }, navLinks(n)), colleagueLinks(), footer()),
      h('main', { class: 'main', id: 'main', tabindex: '-1', key: 'main' },
        state.failure && h('div', { class: 'banner', role: 'alert', key: 'banner' }, h('span', {}, state.failure), button('Try again', refresh)),
        view[3]())),
    state.toast && h('div', { class: 'toast' + (state.toast.bad ? ' bad' : ''), role: state.toast.bad ? 'alert' : 'status', key: 'toast' }, state.toast.text),
    state.help && helpOverlay(),
  ];
}

const keyHelp = [
  ['1 … 8', 'go to a view'], ['j  k', 'next, previous'], ['Enter', 'open'], ['Esc', 'back, close'], ['/', 'filter'], ['a  d', 'approve, deny (Needs you)'],
  ['s', 'stop the open run'], ['v', 'replay and verify the open run'], ['n', 'write a note or a message'], ['r', 'refresh'], ['t', 'light or dark'], ['Ctrl+Enter', 'send, decide'], ['?', 'this help'],
];

function helpOverlay() {
  const close = () => { state.help = false; changed(); focusTitle(); };
  return h('div', { class: 'overlay', key: 'help', onclick: (e) => e.target.classList.contains('overlay') && close() },
    h('div', { class: 'dialog', role: 'dialog', 'aria-modal': 'true', 'aria-labelledby': 'help-title', mounted: (el) => el.querySelector('button').focus(), onkeydown: (e) => {
      if (e.key !== 'Tab') return;
      const all = [...e.currentTarget.querySelectorAll('button, input')];
      const edge = e.shiftKey ? all[0] : all[all.length - 1];
      if (document.activeElement === edge) { e.preventDefault(); (e.shiftKey ? all[all.length - 1] : all[0]).focus(); }
    } },
      h('header', { class: 'card-head' }, h('h2', { id: 'help-title' }, 'Keys'), iconButton('close', 'Close', close)),
      h('dl', { class: 'keys' }, keyHelp.map(([k, what]) => h('div', { key: k }, h('dt', {}, k.split('  ').map((one) => h('kbd', { key: one }, one))), h('dd', {}, what)))),
      h('label', { class: 'choice' }, h('input', { type: 'checkbox', checked: state.keys, onchange: (e) => { state.keys = e.target.checked; memory.set('keys', state.keys ? 'on' : 'off'); changed(); } }), 'Single keys act (Ctrl+Enter and Esc always do)')));
}

const dark = () => (state.theme === 'auto' ? matchMedia('(prefers-color-scheme: dark)').matches : state.theme === 'dark');

function showTheme() {
  if (state.theme === 'auto') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = state.theme;
}

function flipTheme() {
  state.theme = dark() ? 'light' : 'dark';
  memory.set('theme', state.theme);
  showTheme();
  changed();
}

// focusDrawn focuses an element of what is to be seen now, also where drawing is
// slow.
function focusDrawn(find, options) {
  setTimeout(() => {
    drawNow();
    find()?.focus(options);
  }, 90);
}

const focusTitle = () => focusDrawn(() => document.getElementById('detail-title') || document.getElementById('title') || document.getElementById('main'), { preventScroll: true });

// The lists that j and k go through, by view.
function walk(by) {
  const { view, id } = state.route;
  const go = (ids, base, list, height) => {
    if (!ids.length) return;
    const i = ids.indexOf(id);
    const next = i < 0 ? (by > 0 ? 0 : ids.length - 1) : Math.min(ids.length - 1, Math.max(0, i + by));
    location.hash = base + encodeURIComponent(ids[next]);
    if (list) reveal(list, next, height);
  };
  if (view === 'now' || view === 'runs') go(matching().map((r) => r.run_id), '#/runs/', 'runs', runHeight);
  else if (view === 'pending') stepItem(by);
  else if (view === 'people') go(peopleList().filter((a) => a.agent_id).map((a) => a.agent_id), '#/people/');
  else if (view === 'talk') {
    const links = [...document.querySelectorAll('a.channel')];
    const i = links.findIndex((l) => l.classList.contains('chosen'));
    const next = links[Math.min(links.length - 1, Math.max(0, i + by))];
    if (next) location.hash = next.getAttribute('href');
  }
}

function goBack() {
  if (state.help) state.help = false;
  else if (state.menu) state.menu = false;
  else if (state.deciding) state.deciding = null;
  else if (state.open && state.open.stopping) state.open.stopping = false;
  else if (state.route.id) location.hash = hashOf(state.route.view === 'runs' ? 'now' : state.route.view);
  else return false;
  changed();
  focusTitle();
  return true;
}

const writing = (el) => el && (el.tagName === 'TEXTAREA' || el.tagName === 'SELECT' || (el.tagName === 'INPUT' && el.type !== 'checkbox'));

function onKey(event) {
  if (event.key === 'Escape') {
    // The first Esc leaves the field, the next one the place.
    if (writing(document.activeElement)) document.activeElement.blur();
    else if (goBack()) event.preventDefault();
    return;
  }
  if (!state.keys || state.help || event.ctrlKey || event.metaKey || event.altKey || writing(event.target)) return;
  const act = actionOf(event.key);
  if (!act) return;
  event.preventDefault();
  act();
}

function actionOf(key) {
  const inRun = state.route.view === 'runs' && state.open;
  if (/^[1-8]$/.test(key)) return () => { location.hash = hashOf(views[key - 1][0]); };
  switch (key) {
    case '?': return () => { state.help = true; changed(); };
    case 'j': return () => walk(1);
    case 'k': return () => walk(-1);
    case 'r': return () => { refresh(); stale('*'); say('Refreshed.'); };
    case 't': return flipTheme;
    case '/': return () => document.querySelector('[data-filter]')?.focus();
    case 'a': return state.route.view === 'pending' ? () => beginDecision('approved') : null;
    case 'd': return state.route.view === 'pending' ? () => beginDecision('denied') : null;
    case 's': return inRun ? () => { const row = monitorRows().find((r) => r.run_id === state.open.id); if (row && running(row)) { state.open.stopping = true; changed(); } } : null;
    case 'v': return inRun ? reopenRun : null;
    case 'n': return () => {
      if (inRun) { state.open.tab = 'notes'; changed(); }
      focusDrawn(() => document.getElementById('field-note') || document.getElementById('field-colleagueNote') || document.querySelector('[data-compose]'));
    };
    default: return null;
  }
}
