// Needs you: the list of needs, one item with its proof, and the decision on it.

const needHeight = () => (compactRows() ? 36 : 48);

const needSigns = { permission: '?', question: '?', plan: '?', input: '?', help: '☞', milestone: '⚑', memory: '✎', action: '▸', files: '±', run_failed: '✗', over_budget: '$', unreachable: '↯', broken_log: '≠' };
const needNames = {
  permission: 'Permission', question: 'Question', plan: 'Plan', input: 'Input', help: 'Help', milestone: 'Milestone', memory: 'Memory', action: 'Action', files: 'Files',
  run_failed: 'Failed run', over_budget: 'Over budget', unreachable: 'Unreachable machine', broken_log: 'Broken log',
};
const artifactKinds = ['milestone', 'memory', 'action', 'files'];
const dismissible = ['run_failed', 'over_budget', 'broken_log'];

const byUrgency = ([a, x], [b, y]) => x.sev - y.sev || (x.at < y.at ? -1 : x.at > y.at ? 1 : a < b ? -1 : 1);

// openNeeds returns the open needs of the project, the most urgent first, then the oldest.
const openNeeds = () => [...rowsOf('needs')].filter(([, row]) => inProject(row)).sort(byUrgency);

// Settled needs stay in the list for a moment, struck out, with their outcome if it is known.
const struckFor = 3000;
const struck = new Map(); // need id: {row, how}

function settle(id, how) {
  const row = tableOf('needs').get(id) || struck.get(id)?.row;
  if (!row) return;
  const known = struck.has(id);
  struck.set(id, { row, how });
  if (!known) setTimeout(() => { struck.delete(id); changed(); }, struckFor);
}

// strikeGone strikes out a need whose row a frame removed.
function strikeGone(id, row) {
  if (state.route.view !== 'needs' || struck.has(id)) return;
  settleAs(id, row, 'settled');
  call('needs.get', { need_id: id }).catch((error) => {
    if (error.reason !== 'settled' || !error.data || !struck.has(id)) return;
    struck.get(id).how = words(error.data.how) + (error.data.by ? ' by ' + personName(error.data.by) : '') + (error.data.at ? ', ' + clock(error.data.at) : '');
    changed();
  });
}

function settleAs(id, row, how) {
  struck.set(id, { row, how });
  setTimeout(() => { struck.delete(id); changed(); }, struckFor);
}

const showsDismissed = () => state.route.query.state === 'dismissed';

function dismissedNeeds() {
  const rev = tableRev('needs');
  const entry = fetched('link/dismissed-needs', () => call('needs.list', { state: 'dismissed', limit: 1000 }));
  if (entry.rev !== rev) {
    if (entry.rev !== undefined) queueMicrotask(() => stale('link/dismissed-needs'));
    entry.rev = rev;
  }
  return ((entry.value && entry.value.needs) || []).map((need) => [need.need_id, need]).filter(([, row]) => inProject(row));
}

// listedNeeds returns the needs to list: the open ones with those just settled in place, or the
// dismissed ones.
function listedNeeds() {
  const { kind } = state.route.query;
  let list;
  if (showsDismissed()) list = dismissedNeeds();
  else {
    const open = new Set(rowsOf('needs').keys());
    list = [...openNeeds(), ...[...struck].filter(([id, { row }]) => !open.has(id) && inProject(row)).map(([id, { row }]) => [id, row])].sort(byUrgency);
  }
  return kind ? list.filter(([, row]) => row.kind === kind) : list;
}

// chosenNeed returns the need in the address, else the one being decided, else on a wide screen the
// first.
function chosenNeed(list) {
  const id = state.route.id || deciding.id;
  if (id) return list.find(([need]) => need === id || need.endsWith(':' + id)) || [id, null];
  return wide() && list.length ? list.find(([need]) => !struck.has(need)) || list[0] : null;
}

const wide = () => matchMedia('(min-width: 900px)').matches;

function stepNeed(by) {
  const list = listedNeeds().filter(([id]) => !struck.has(id));
  if (!list.length) return;
  const at = list.findIndex(([id]) => id === (chosenNeed(list) || [])[0]);
  const [next] = list[Math.min(list.length - 1, Math.max(0, at + by))];
  goThen(() => document.querySelector('[data-need="' + CSS.escape(next) + '"]'), 'needs', next, '', needQuery());
}

const needQuery = () => ({ kind: state.route.query.kind, state: state.route.query.state });

// nextNeed opens the need after a decided one, and focuses its row.
function nextNeed(id) {
  const list = listedNeeds().filter(([one]) => one === id || !struck.has(one));
  const at = list.findIndex(([one]) => one === id);
  const next = list[at + 1] || list[at - 1];
  goThen(() => (next && document.querySelector('[data-need="' + CSS.escape(next[0]) + '"]')) || firstTitle(), 'needs', next ? next[0] : '', '', needQuery());
}

// troubled reports whether a need is about a run that went wrong.
const troubled = (row) => ['run_failed', 'over_budget', 'broken_log'].includes(row.kind);

// needTitle returns the title of a need. For a run that went wrong it capitalizes the server's
// text. If the run's agent gave no reason, it adds the exit code.
function needTitle(row) {
  if (!troubled(row)) return oneLine(row.title);
  const exit = row.kind === 'run_failed' && row.title === 'failed' && tableOf('runs').get(row.run)?.exit;
  return oneLine(row.title.replace(/^./u, (c) => c.toUpperCase()) + (known(exit) && exit !== false ? ': exit ' + exit : ''));
}

// needRow is a need in a list. With inline, a permission has its options if the row shows its whole
// command.
function needRow(id, row, { inline, chosen, box } = {}) {
  const record = inline && wide() && row.kind === 'permission' ? openAsks().get(id.replace('interaction:', '')) : null;
  const acts = record && wholeCommand(record, row) ? record.options.map((o) => optionButton(record, o, () => ({}), { kind: 'small ' + optionTone(o) })) : null;
  const over = struck.get(id);
  return h('div', { class: 'need-row' + (chosen ? ' chosen' : '') + (over ? ' struck' : '') + (freshRow('needs', id) ? ' fresh' : '') },
    box && h('input', { type: 'checkbox', 'aria-label': 'Choose ' + oneLine(row.title, 80), checked: chosenMany.has(id), disabled: Boolean(over), onchange: () => chooseMany(id) }),
    h('a', { class: 'need-link', href: hrefOf('needs', id, '', inline ? {} : needQuery()), 'data-need': id, 'data-kind': row.kind, 'aria-current': chosen ? 'true' : undefined },
      h('span', { class: 'need-sign', 'aria-hidden': 'true', title: needNames[row.kind] }, needSigns[row.kind] || '·'), h('span', { class: 'quiet-text' }, (needNames[row.kind] || words(row.kind)) + ': '),
      h('span', { class: 'need-who' }, row.who ? oneLine(personName(row.who), 40) : ''),
      h('span', { class: 'need-title' }, over ? h('s', {}, needTitle(row)) : shownText(needTitle(row)), troubled(row) && h('span', { class: 'run-project' }, oneLine(tableOf('runs').get(row.run)?.title || '', 80)), over && h('span', { class: 'note' }, over.how), !state.project && row.p && h('span', { class: 'run-project' }, oneLine(projectName(row.p), 60)))),
    row.expires_at && !over ? since(row.expires_at, 'left', { class: 'need-when', 'data-deadline': id }) : agoSince(row.at, { class: 'need-when' }),
    inline && wide() && h('span', { class: 'need-acts' }, acts || h('a', { class: 'button small', href: hrefOf('needs', id) }, 'Open')));
}

// wholeCommand reports whether the row shows everything that an approval would allow.
const wholeCommand = (record, row) => !record.diff && record.resource && record.options?.length > 0 && !/[\n\r]/.test(record.resource) && oneLine(row.title).includes(oneLine(record.resource)) && oneLine(record.resource) === record.resource;

function needFilters(list) {
  const kinds = [...new Set((showsDismissed() ? dismissedNeeds() : openNeeds()).map(([, row]) => row.kind))];
  return h('div', { class: 'filters' },
    choiceOf('kind', 'Kind', kinds.map((kind) => [kind, needNames[kind] || words(kind)])),
    h('select', { class: 'field', key: 'state', 'aria-label': 'State', value: state.route.query.state || '', onchange: (e) => go('needs', '', '', { ...needQuery(), state: e.target.value }) }, [['', 'Open'], ['dismissed', 'Dismissed']].map(([v, text]) => h('option', { key: v, value: v, selected: v === (state.route.query.state || '') }, text))),
    list.length > 0 && h('label', { class: 'choose-all' }, h('input', { type: 'checkbox', checked: chosenMany.size > 0 && chosenMany.size === list.length, onchange: (e) => chooseAll(e.target.checked ? list : []) }), 'choose all'));
}

function needsList(list, chosen) {
  const height = needHeight();
  const name = 'needs' + (showsDismissed() ? '/dismissed' : '');
  const seen = state.scroll[name] || { top: 0, height: innerHeight };
  const from = Math.max(0, Math.floor(seen.top / height) - overscan);
  const to = Math.min(list.length, Math.ceil((seen.top + seen.height) / height) + overscan);
  placeRows(name, new Map(list.map(([id], i) => [id, { top: i * height + groupHead, height }])));
  return h('div', { class: 'needs-list', key: name, id: 'list-' + name, 'data-needs-list': true, role: 'group', 'aria-label': 'What waits', tabindex: '0', ...keepsScroll(name) },
    h('ul', { class: 'group-rows', style: { height: list.length * height + 'px' } }, list.slice(from, to).map(([id, row], i) => h('li', { key: id, class: 'list-row', style: placed(from + i, height), 'aria-setsize': list.length, 'aria-posinset': from + i + 1 }, needRow(id, row, { box: true, chosen: chosen && chosen[0] === id })))));
}

function needsView() {
  const list = listedNeeds();
  const chosen = chosenNeed(list);
  const opened = Boolean(state.route.id);
  const waiting = list.filter(([id]) => !struck.has(id)).length;
  return h('div', { class: 'split needs' + (opened ? ' opened' : ''), key: 'needs' },
    (wide() || !opened) && h('div', { class: 'pane list-pane', key: 'list' },
      h('header', { class: 'pane-head' }, h('div', {}, h('h1', { tabindex: '-1', id: 'title' }, 'Needs you ', h('span', { class: 'group-count' }, count(waiting))), showsDismissed() && h('p', { class: 'sub' }, 'Dismissed')), needFilters(list)),
      bulkBar(list),
      !store.ready ? loading('Reading what waits…') : list.length ? needsList(list, chosen)
        : showsDismissed() ? empty('Nothing was dismissed', 'Failed runs that somebody dismissed stand here, and can be restored.', h('a', { class: 'button', href: hrefOf('needs') }, 'See what waits'))
          : empty('Nothing waits for you', 'Questions of agents, proposals, reports of milestones and failed runs show here the moment they come.')),
    chosen && needItem(chosen, list));
}
