// Now: what needs a person, and the live, failed and done runs.

const compactRows = () => memory.get('density') === 'compact' && wide();
const runHeight = () => (compactRows() ? 38 : wide() ? 56 : 68);
const runGroups = ['live', 'failed', 'done'];

const overBudget = (row) => row.flags.includes('over_budget');
const isFailed = (row) => row.status === 'failed' || (row.status === 'stopped' && overBudget(row));

function groupOfRun(id, row, dismissed) {
  if (row.status === 'running') return 'live';
  if (isFailed(row)) return dismissed.has(id) ? 'dismissed' : 'failed';
  return 'done';
}

// A run stays in its group for two seconds, and while it is under the pointer or has the focus.
const groupStay = 2000;
const shownGroups = new Map(); // run id: {group, since}
let regroupTimer = 0;

function stayInGroup(id, wanted) {
  const known = shownGroups.get(id);
  const now = Date.now();
  if (!known) {
    shownGroups.set(id, { group: wanted, since: now });
    return wanted;
  }
  if (known.group === wanted) {
    known.leaving = 0;
    return wanted;
  }
  known.leaving ||= now;
  const focused = document.activeElement?.dataset?.run === id;
  if (pointedRow === id || focused || now - known.leaving < groupStay) {
    if (!regroupTimer) regroupTimer = setTimeout(() => { regroupTimer = 0; changed(); }, groupStay);
    return known.group;
  }
  shownGroups.set(id, { group: wanted, since: now });
  return wanted;
}

// Runs older than those of the room, as far as somebody has loaded them.
const olderRuns = new Map(); // by project: {rows: Map, more, busy}

async function readOlderRuns(before) {
  const of = state.project;
  const known = olderRuns.get(of) || { rows: new Map(), more: true, busy: false };
  if (known.busy) return;
  known.busy = true;
  olderRuns.set(of, known);
  changed();
  try {
    const page = await call('room.read', { ...(of ? { project_id: of } : {}), tables: ['runs'], before, limit: 200 });
    for (const [, key, row] of page.rows) known.rows.set(key, row);
    known.more = page.more && page.rows.length > 0;
  } catch (error) {
    say(error.message, true);
  }
  known.busy = false;
  changed();
}

// dismissedRuns returns the runs whose failure somebody dismissed.
function dismissedRuns() {
  const rev = tableRev('needs');
  const entry = fetched('link/dismissed', () => call('needs.list', { state: 'dismissed', kinds: ['run_failed', 'over_budget'], limit: 1000 }));
  if (entry.rev !== rev && entry.at) {
    if (entry.rev !== undefined) queueMicrotask(() => stale('link/dismissed'));
    entry.rev = rev;
  }
  return new Set(((entry.value && entry.value.needs) || []).map((need) => need.run));
}

const nowFilters = ['status', 'agent', 'provider', 'task', 'q', 'since'];

// statusOfRun returns the status of a run in terms of the filter.
const statusOfRun = (row) => (isNew(row) ? 'new' : row.status === 'running' ? 'live' : isFailed(row) ? 'failed' : row.status === 'stopped' ? 'stopped' : 'done');

function fitsFilter(id, row, query) {
  const { status, agent, provider, task, since: after, q } = query;
  if (!inProject(row)) return false;
  if (status && statusOfRun(row) !== status) return false;
  if (agent && row.agent !== agent) return false;
  if (provider && row.provider !== provider) return false;
  if (task && row.task !== task) return false;
  if (after && row.at < after) return false;
  const wanted = (q || '').trim().toLowerCase();
  return !wanted || [id, row.agent, personName(row.agent), row.provider, row.title, row.task, row.status, row.line].some((v) => v && v.toLowerCase().includes(wanted));
}

// shownRuns returns the runs by group, each as [id, row], the newest first.
function shownRuns() {
  const groups = { live: [], failed: [], done: [], dismissed: [] };
  const dismissed = dismissedRuns();
  const take = (id, row) => fitsFilter(id, row, state.route.query) && groups[stayInGroup(id, groupOfRun(id, row, dismissed))].push([id, row]);
  const known = rowsOf('runs');
  for (const [id, row] of known) take(id, row);
  for (const [id, row] of olderRuns.get(state.project)?.rows || []) if (!known.has(id)) take(id, row);
  for (const name in groups) groups[name].sort(([, a], [, b]) => (a.at < b.at ? 1 : a.at > b.at ? -1 : 0));
  return groups;
}

const runSigns = { live: ['●', 'live'], new: ['○', ''], failed: ['✗', 'bad'], stopped: ['■', 'warn'], done: ['✓', ''] };
const lostWord = (text) => (state.link === 'lost' ? 'was ' + text : text);

function runState(row) {
  const status = statusOfRun(row);
  const [sign, tone] = runSigns[status];
  const word = { live: lostWord(row.open > 0 ? 'waiting' : /idle/.test(row.activity || '') ? 'idle' : 'running'), new: 'new', failed: 'failed', stopped: 'stopped', done: 'done' }[status];
  return h('span', { class: 'sign ' + (state.link === 'lost' && status === 'live' ? '' : tone), title: sentence(word) }, h('span', { 'aria-hidden': 'true' }, sign), h('span', { class: 'quiet-text' }, sentence(word)));
}

const errorKinds = { quota: 'quota', auth: 'login', crash: 'crashed', timeout: 'timed out', budget: 'over budget' };

// runLine is the last output of a run, or the reason for its failure.
function runLine(row) {
  if (isNew(row)) return 'Made, never launched';
  if (isFailed(row)) {
    const why = row.err ? oneLine(row.err) : overBudget(row) ? 'over its budget' : '';
    return [row.err_kind && (errorKinds[row.err_kind] || words(row.err_kind)), why, known(row.exit) && 'exit ' + row.exit].filter(Boolean).join(' · ') || 'Failed';
  }
  return row.line ? shownText(oneLine(row.line)) : '';
}

const flagWords = { policy_denied: ['something was denied', 'warn'], over_budget: ['over budget', 'bad'], budget_alert: ['budget alert', 'warn'], parse_errors: ['log has faults', 'bad'], chain_broken: ['log is broken', 'bad'] };
const runFlags = (row) => row.flags.map((flag) => h('span', { key: flag, class: 'note ' + (flagWords[flag]?.[1] || '') }, flagWords[flag]?.[0] || words(flag)));

const runTokens = (row) => (known(row.tokens) ? (row.tk === 'estimated' ? '~' : '') + compact(row.tokens) : none);
const unpricedWhy = (row) => (!known(row.tokens) ? 'No usage is reported yet' : row.status === 'running' ? 'Priced when the run ends' : 'No rate card has a price for this model');

function runCost(row) {
  if (!known(row.cost)) return h('span', { class: 'run-cost', title: unpricedWhy(row) }, none);
  return h('span', { class: 'run-cost', title: row.ck === 'reported' ? 'Reported by the provider' : 'By the rate card' }, (row.tk === 'estimated' && row.ck !== 'reported' ? '~' : '') + money(row.cost));
}

function runElapsed(row) {
  if (row.status === 'running' && row.started) return state.link === 'lost' ? h('span', {}, duration(state.lostAt - instant(row.started))) : since(row.started, 'elapsed');
  if (row.started && row.ended) return h('span', {}, duration(instant(row.ended) - instant(row.started)));
  return h('span', {}, none);
}

// runRow is a run in a list: a link, followed by its actions.
function runRow(id, row, chosen) {
  return part('=run/' + id, [row, chosen, state.link, freshRow('runs', id), rowOf('people', row.agent), state.project], () => h('div', { class: 'run-row' + (freshRow('runs', id) ? ' fresh' : '') },
    h('a', { class: 'run-link', href: hrefOf('runs', id), 'data-run': id, 'aria-current': chosen ? 'true' : undefined },
      runState(row),
      h('span', { class: 'run-who' }, oneLine(personName(row.agent), 60)),
      h('span', { class: 'run-title' }, oneLine(row.title) || brief(id), !state.project && h('span', { class: 'run-project' }, oneLine(projectName(row.p), 60))),
      h('span', { class: 'run-said' }, runFlags(row), h('span', { class: 'said' }, runLine(row)),
        isLive(row) && row.said_at && state.link !== 'lost' && since(row.said_at, 'quiet', { class: 'note warn quiet-mark' })),
      h('span', { class: 'run-elapsed' }, runElapsed(row)),
      h('span', { class: 'run-tokens' }, runTokens(row)),
      runCost(row),
      h('span', { class: 'run-when' }, row.status !== 'running' && agoSince(row.ended || row.at))),
    h('span', { class: 'run-act' }, isFailed(row) && button('Retry', () => go('start', '', '', { from: id, project: row.p }), { act: 'retry', kind: 'small', label: 'Retry ' + oneLine(row.title, 80) }))));
}


function nowHead(groups) {
  const counted = rowOf('counts', state.project || 'all') || {};
  const costs = [...rowsOf('projects')].filter(([id]) => !state.project || id === state.project).map(([, p]) => p.cost_today).filter(known);
  const failed = groups.failed.length;
  return h('div', {}, h('h1', { tabindex: '-1', id: 'title' }, 'Now'),
    h('p', { class: 'sub' }, [count(counted.live || 0) + ' ' + lostWord('live'), failed && count(failed) + ' failed', counted.quiet && count(counted.quiet) + ' quiet', money(costs.length ? costs.reduce((a, b) => a + b, 0) : null) + ' today'].filter(Boolean).join(' · ')));
}

function choiceOf(name, label, options) {
  const chosen = state.route.query[name] || '';
  return h('select', { class: 'field', key: name, 'aria-label': label, value: chosen, onchange: (e) => setQuery({ [name]: e.target.value }) },
    [['', 'Any ' + label.toLowerCase()], ...options].map(([v, text]) => h('option', { value: v, key: v, selected: v === chosen }, text)));
}

function nowFilter() {
  const runs = [...rowsOf('runs').values()].filter(inProject);
  const agents = [...new Set(runs.map((row) => row.agent))].map((id) => [id, oneLine(personName(id), 60)]).sort((a, b) => a[1].localeCompare(b[1]));
  const providers = [...new Set(runs.map((row) => row.provider))].sort().map((one) => [one, one]);
  const filtered = nowFilters.some((name) => state.route.query[name]);
  const fields = [
    h('input', { type: 'search', class: 'field', key: 'q', 'aria-label': 'Filter', placeholder: 'Filter', 'data-filter': true, value: state.route.query.q || '', oninput: (e) => setQuery({ q: e.target.value }) }),
    choiceOf('status', 'Status', [['live', 'Live'], ['new', 'New'], ['failed', 'Failed'], ['stopped', 'Stopped'], ['done', 'Done']]),
    choiceOf('agent', 'Agent', agents), choiceOf('provider', 'Provider', providers),
    filtered && iconButton('close', 'Clear the filter', () => setQuery(Object.fromEntries(nowFilters.map((name) => [name, '']))), { key: 'clear' })];
  if (wide()) return h('div', { class: 'filters', key: 'filters', role: 'search', 'aria-label': 'Filter runs' }, fields);
  const open = state.filtering ?? filtered;
  return h('div', { class: 'filters', key: 'filters-more', role: 'search', 'aria-label': 'Filter runs' },
    button(open ? 'Filter ▴' : 'Filter ▾', () => { state.filtering = !open; changed(); }, { key: 'more', kind: 'quiet filter-more', 'aria-expanded': String(open) }), open && fields);
}

const needsShown = 3;

function nowGroups(groups) {
  const needs = openNeeds();
  const runs = (id, title, items, more) => ({ id, title, count: items.length, items, height: runHeight(), keyOf: ([run]) => run, row: ([run, row]) => runRow(run, row, false), ...more });
  const done = groups.done;
  const last = done[done.length - 1];
  const older = olderRuns.get(state.project);
  return [
    needs.length > 0 && { id: 'needs', title: 'Needs you', count: needs.length, items: needs.slice(0, needsShown), height: needHeight(), keyOf: ([id]) => id, row: ([id, row]) => needRow(id, row, { inline: true }), aside: needs.length > needsShown && h('a', { class: 'link', href: hrefOf('needs') }, 'see all ' + count(needs.length)) },
    groups.live.length > 0 && runs('live', sentence(lostWord('live')), groups.live),
    groups.failed.length + groups.dismissed.length > 0 && runs('failed', 'Failed', groups.failed, { aside: groups.dismissed.length > 0 && h('a', { class: 'link', href: hrefOf('needs', '', '', { state: 'dismissed' }) }, 'dismissed ' + count(groups.dismissed.length)) }),
    done.length > 0 && runs('done', 'Done', done, { after: last && (!older || older.more) && done.length >= 150 && h('div', { class: 'after' }, button(older && older.busy ? 'Reading…' : 'Older runs', () => readOlderRuns(last[1].at), { disabled: Boolean(older && older.busy) })) }),
  ].filter(Boolean);
}

// nowIds returns the runs in display order.
const nowIds = () => { const groups = shownRuns(); return runGroups.flatMap((name) => groups[name].map(([id]) => id)); };

function nowView() {
  const groups = shownRuns();
  const shown = nowGroups(groups);
  const any = [...rowsOf('runs').values()].some(inProject);
  return h('div', { class: 'page', key: 'now' },
    h('header', { class: 'pane-head' }, nowHead(groups), nowFilter()),
    !store.ready ? loading('Reading runs…')
      : shown.some((group) => group.id !== 'needs') ? groupedList({ name: 'now', label: 'Runs', groups: shown })
        : any ? empty('No run fits', 'No run fits this filter.', button('Clear the filter', () => setQuery(Object.fromEntries(nowFilters.map((name) => [name, ''])))))
          : [shown.length > 0 && groupedList({ name: 'now', label: 'What needs you', groups: shown }), empty('No run yet', 'A run shows here the moment it is made.', h('a', { class: 'button primary', href: hrefOf('start') }, 'Start one'))]);
}
