// The frame around the views: navigation, badges, people, and the state of the link.

const views = [
  ['now', 'Now', nowView],
  ['needs', 'Needs you', needsView],
  ['start', 'Start', startView],
  ['plan', 'Plan', planView],
  ['people', 'People', peopleView],
  ['talk', 'Talk', talkView],
  ['cost', 'Cost', costView],
  ['decided', 'Decided', decidedView],
  ['health', 'Health', healthView],
  ['settings', 'Settings', settingsView],
  ['projects', 'All projects', projectsView],
];
const bottomViews = ['now', 'needs', 'start', 'talk'];

const currentView = () => (state.route.view === 'runs' ? 'now' : state.route.view);
const viewName = () => (views.find(([id]) => id === currentView()) || ['', 'Not found'])[1];

function viewTree() {
  if (state.route.view === 'runs') return runView();
  const view = views.find(([id]) => id === state.route.view);
  return view ? view[2]() : noSuchPlace();
}

const noSuchPlace = () => h('div', { class: 'page', key: 'none' }, h('header', { class: 'pane-head' }, h('h1', { tabindex: '-1', id: 'title' }, 'There is no such place')), empty('There is no ' + oneLine(state.route.view, 40), 'The address leads nowhere.', h('a', { class: 'button', href: hrefOf('now') }, 'Go to Now')));

function badgeOf(id) {
  const counted = rowOf('counts', state.project || 'all');
  if (id === 'now') return [counted?.live || 0, ' live', 'live'];
  if (id === 'needs') return [openNeeds().length, ' waiting', 'calls'];
  if (id === 'talk') return [[...rowsOf('talk').values()].filter(inProject).reduce((n, row) => n + row.unread, 0), ' unread', ''];
  return [0, '', ''];
}

function navLink([id, name]) {
  const [n, what, tone] = badgeOf(id);
  const chosen = currentView() === id;
  return h('li', { key: id }, h('a', { class: 'nav-link' + (chosen ? ' chosen' : ''), href: hrefOf(id), 'aria-current': chosen ? 'page' : undefined, onclick: closeMenu },
    icon(id), h('span', { class: 'nav-name' }, name), n > 0 && h('span', { class: 'badge ' + tone }, count(n), h('span', { class: 'quiet-text' }, what))));
}

function closeMenu() {
  state.menu = false;
  changed();
}

// peopleLinks lists people by name, so that their order never changes while they work.
function peopleLinks() {
  const list = [...rowsOf('people')].sort(byName);
  if (!list.length) return h('p', { class: 'quiet' }, 'Nobody yet');
  return h('ul', {}, list.map(([id, person]) => h('li', { key: id }, h('a', { class: 'colleague' + (state.route.view === 'people' && state.route.id === id ? ' chosen' : ''), href: hrefOf('people', id), 'data-person': id, onclick: closeMenu },
    h('span', { class: 'dot ' + (person.live > 0 && state.link !== 'lost' ? 'live' : person.waiting > 0 ? 'warn' : '') }), h('span', { class: 'colleague-name' }, oneLine(person.name, 60)), h('span', { class: 'quiet-text' }, ', ' + words(person.status)),
    person.live > 0 && h('span', { class: 'badge' }, count(person.live), h('span', { class: 'quiet-text' }, ' live'))))));
}

const linkStateWords = () => ({ live: 'Live', connecting: 'Connecting…', lost: 'Not connected' })[state.link];
const linkState = () => h('span', { class: 'link-state' }, h('span', { class: 'dot ' + { live: 'good', lost: '', connecting: 'warn' }[state.link] }), linkStateWords());

function sideFoot() {
  return h('footer', { class: 'side-foot', key: 'foot' }, linkState(),
    h('button', { type: 'button', class: 'icon-button', 'aria-label': 'Search and commands (Ctrl+K)', title: 'Ctrl+K', onclick: openPalette }, icon('search')),
    iconButton(dark() ? 'sun' : 'moon', dark() ? 'Light theme' : 'Dark theme', flipTheme), iconButton('help', 'Keys', openKeys));
}

function switcherButton() {
  return h('button', { type: 'button', class: 'switcher', 'data-act': 'projects', 'aria-haspopup': 'dialog', title: state.project || undefined, onclick: openSwitcher },
    h('span', { class: 'switcher-company' }, oneLine(companyName(), 60)), h('span', { class: 'quiet-text' }, ', project '), h('span', { class: 'switcher-project' }, oneLine(projectName(state.project), 60), h('span', { 'aria-hidden': 'true' }, ' ▾')));
}

const navViews = () => views.filter(([id]) => id !== 'projects');

function side() {
  return h('div', { class: 'side', key: 'side' },
    h('div', { class: 'brand', key: 'brand' }, switcherButton()),
    h('nav', { class: 'nav', 'aria-label': 'Views', key: 'nav' }, h('ul', {}, navLink(['projects', 'All projects'])), h('ul', {}, navViews().map(navLink))),
    h('nav', { class: 'colleagues', 'aria-label': 'People', key: 'people', tabindex: '0' }, peopleLinks()),
    sideFoot());
}

function topBar() {
  const live = rowOf('counts', state.project || 'all')?.live || 0;
  return h('header', { class: 'top', key: 'top' }, iconButton('menu', 'Menu', () => { state.menu = !state.menu; changed(); }, { 'aria-expanded': String(state.menu) }),
    h('span', { class: 'top-title' }, viewName()), h('button', { type: 'button', class: 'link top-project', 'data-act': 'projects', onclick: openSwitcher }, state.project ? oneLine(projectName(state.project), 40) : 'All', ' ▾'),
    live > 0 && h('span', { class: 'badge live' }, count(live), h('span', { class: 'quiet-text' }, ' live')), linkState());
}

function bottomBar() {
  const shortNames = { needs: 'Needs', start: 'Start' };
  return h('nav', { class: 'bottom', 'aria-label': 'Main views', key: 'bottom' }, bottomViews.map((id) => {
    const [n] = badgeOf(id);
    const name = shortNames[id] || views.find(([one]) => one === id)[1];
    return h('a', { key: id, href: hrefOf(id), 'aria-current': currentView() === id ? 'page' : undefined, class: currentView() === id ? 'chosen' : '' }, icon(id), h('span', {}, name, n > 0 && id !== 'now' && h('span', { class: 'badge calls' }, count(n))));
  }), h('button', { type: 'button', 'aria-label': 'More views', onclick: () => { state.menu = true; changed(); focusDrawn(() => document.querySelector('.side .nav-link')); } }, icon('more'), h('span', {}, 'More')));
}

const lostBanner = () => state.link === 'lost' && h('div', { class: 'banner', key: 'lost', 'data-banner': 'lost' }, h('span', {}, 'Not connected since ' + clock(new Date(state.lostAt).toISOString()) + '. Shown is what was then.'), button('Try now', tryNow));

function newerBanner() {
  const meta = rowOf('meta', 'server');
  return meta && state.version && meta.version !== state.version && h('div', { class: 'banner calm', key: 'newer' }, h('span', {}, 'A newer ac runs.'), button('Reload', () => location.reload()));
}

function indexBanner() {
  const meta = rowOf('meta', 'server');
  return meta && meta.index && meta.index.behind && meta.index.state !== 'ready' && h('div', { class: 'banner calm', key: 'index' }, h('span', {}, 'The rows are older than the files: ' + oneLine(meta.index.state)));
}

function shell() {
  const covered = Boolean(state.dialog || state.palette || state.switching);
  const owned = { draws: () => {}, of: 0 }; // announce writes there
  return [
    h('a', { class: 'skip', href: '#main', key: 'skip', onclick: (e) => { e.preventDefault(); document.getElementById('main').focus(); } }, 'Skip to the content'),
    h('div', { class: 'frame' + (state.menu ? ' menu-open' : ''), key: 'frame', inert: covered },
      part('top', [], topBar),
      state.menu && h('div', { class: 'veil', key: 'veil', onclick: closeMenu }),
      part('side', [], side),
      h('main', { class: 'main', id: 'main', tabindex: '-1', key: 'main' }, part('banners', [], () => h('div', { key: 'banners' }, [lostBanner(), newerBanner(), indexBanner()])), part('view', [], viewTree)),
      part('bottom', [], bottomBar)),
    h('div', { class: 'toast-place', key: 'toast', role: 'region', 'aria-label': 'Messages' }, state.toast && h('div', { class: 'toast' + (state.toast.bad ? ' bad' : '') }, state.toast.text)),
    h('div', { id: 'say-now', role: 'alert', class: 'quiet-text', key: 'say-now', ...owned }), h('div', { id: 'say-calm', role: 'status', class: 'quiet-text', key: 'say-calm', ...owned }),
    dialogView(), paletteView(), switcherView(),
  ];
}

// ---- Theme and focus

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

// focusDrawn redraws and then focuses the element that find returns.
function focusDrawn(find, options) {
  setTimeout(() => {
    drawNow();
    find()?.focus(options);
  }, 0);
}

const firstTitle = () => document.getElementById('detail-title') || document.getElementById('title') || document.getElementById('main');
const focusTitle = () => focusDrawn(firstTitle, { preventScroll: true });
