// The page of a run: its head with actions, and its tabs.

function runView() {
  const open = openRun(state.route.id);
  beginRun(open);
  followRun(open);
  const about = aboutRun(open);
  open.plain = withoutDriver.includes(about.provider); // output of a command is not Markdown
  const tab = tabOfRun();
  if (open.loaded && open.project && about.changed) readChanges(open);
  if (open.missing) return noSuchRun();
  return h('article', { class: 'pane detail run', key: 'run/' + open.id, 'aria-label': 'Run ' + open.id },
    runHead(open, about),
    h('div', { class: 'run-bar' }, runTabList(open, about, tab), tab === 'transcript' && transcriptTools(open)),
    open.error ? h('div', { class: 'tab-body', key: 'error' }, fault(open.error, () => loadRun(open)))
      : !open.loaded ? h('div', { class: 'tab-body', key: 'wait' }, loading('Reading the run…'))
        : h('div', { class: 'tab-body', key: tab, role: 'tabpanel', 'aria-labelledby': 'tab-' + tab }, { transcript: transcriptTab, changes: changesTab, log: logTab, events: eventsTab, notes: notesTab }[tab](open)));
}

const noSuchRun = () => h('div', { class: 'page', key: 'none' }, h('header', { class: 'pane-head' }, h('h1', { tabindex: '-1', id: 'title' }, 'No such run')), empty('There is no run ' + oneLine(state.route.id, 80), 'It may be of another project, or it was removed.', h('a', { class: 'button', href: hrefOf('now') }, 'Back to Now')));

function runHead(open, about) {
  const now = open.transcript.state || {};
  const lives = runLives(open);
  const busy = lives && now.activity && now.activity !== 'idle' && now.activity !== 'starting';
  const what = oneLine(about.title || (about.task && taskTitle(about.task)) || '', 160);
  const lost = state.link === 'lost' && lives;
  const status = lost ? 'was running' : lives && now.activity ? words(now.activity) + (now.turn ? ', turn ' + now.turn : '') : about.status || 'unknown';
  return h('header', { class: 'detail-head' },
    h('a', { class: 'icon-button back', href: hrefOf('now'), 'aria-label': 'Back to Now' }, icon('back')),
    h('div', { class: 'detail-title' },
      h('h1', { tabindex: '-1', id: 'title', title: what }, oneLine(personName(about.agent)), what && h('span', { class: 'run-task' }, ' · ' + what)),
      h('p', { class: 'id' }, open.id)),
    h('div', { class: 'run-facts' }, pill(lost ? '' : about.status, sentence(status)),
      h('span', { title: 'Elapsed' }, lives ? since(about.started, 'elapsed') : duration(about.ended && about.started ? instantOf(about.ended) - instantOf(about.started) : NaN)),
      h('span', { title: 'Tokens' }, (about.tk === 'estimated' ? '~' : '') + compact(about.tokens)),
      h('span', { title: known(about.cost) ? 'Cost' : 'No price is known for these tokens' }, known(about.cost) ? (about.tk === 'estimated' ? '~' : '') + money(about.cost) : none),
      (about.flags || []).map((flag) => h('span', { key: flag, class: 'note ' + (flag === 'budget_alert' ? 'warn' : 'bad') }, words(flag)))),
    h('div', { class: 'actions' },
      busy && act('interrupt', 'Stop turn', () => interrupt(open), { disabled: open.speaking }),
      lives && act('stop', 'Stop', () => askStop(open), { kind: 'danger' }),
      !lives && open.loaded && !open.missing && h('a', { class: 'button', key: 'retry', 'data-act': 'retry', href: hrefOf('start', '', '', { from: open.id, project: open.project }) }, 'Retry')));
}

const instantOf = (at) => (typeof at === 'number' ? at : instant(at));

// act is a button with a data-act name.
const act = (name, text, onclick, options) => button(text, onclick, { key: name, act: name, ...options });

function runTabList(open, about, tab) {
  const changes = open.changes && open.changes.totals;
  const counts = { changes: changes ? changes.files + ' (+' + changes.added + ' −' + changes.removed + ')' : about.changed, events: open.transcript.seq };
  const go1 = (id) => {
    go('runs', open.id, id, { project: state.route.query.project });
  };
  return h('div', { class: 'tabs', role: 'tablist', 'aria-label': 'Parts of the run' }, runTabs.map(([id, text]) =>
    h('button', {
      type: 'button', role: 'tab', key: id, id: 'tab-' + id, class: 'tab', 'aria-selected': String(tab === id), tabindex: tab === id ? '0' : '-1', onclick: () => go1(id),
      onkeydown: (event) => {
        const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        if (!step) return;
        event.preventDefault();
        stepTab(step);
        requestAnimationFrame(() => requestAnimationFrame(() => document.getElementById('tab-' + tabOfRun())?.focus()));
      },
    }, text, counts[id] ? h('span', { class: 'tab-count' }, counts[id]) : null)));
}

// stepTab goes to the next or previous tab of the open run.
function stepTab(by) {
  const ids = runTabs.map(([id]) => id);
  const next = ids[(ids.indexOf(tabOfRun()) + by + ids.length) % ids.length];
  go('runs', state.open.id, next, { project: state.route.query.project });
}

function askStop(open) {
  openDialog({ name: 'stop', title: 'Stop this run?', confirm: 'Stop it', danger: true, body: () => h('p', {}, 'Its session ends now. What it wrote stays.'), run: () => stopRun(open) });
}
