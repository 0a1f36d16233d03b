// Health: whether this workspace is well, and what to do where it is not.

function healthView() {
  const doctor = fetched('health/doctor', () => call('workspace.doctor'), 120000);
  const adapters = fetched('health/adapters', () => call('adapter.status'), 120000);
  const worker = fetched('health/worker', () => call('index.sync_worker_status'), 5000);
  const server = fetched('health/server', () => read('/api/health'), 60000);
  const projects = fetched('health/projects', () => call('workspace.projects.list'), 120000);
  const beat = (state.snapshot && state.snapshot.heartbeat) || null;
  return h('div', { class: 'page', key: 'health' },
    h('header', { class: 'pane-head' }, h('div', {}, h('h1', { tabindex: '-1', id: 'title' }, 'Health'), h('p', { class: 'sub' }, doctor.value ? verdict(doctor.value) : 'Looking the workspace over')), h('div', { class: 'actions' }, button(doctor.busy ? 'Looking…' : 'Look again', () => stale('health/*'), { disabled: doctor.busy }))),
    h('div', { class: 'scroller', tabindex: '-1' }, h('div', { class: 'columns health' },
      section('Doctor', doctor.value && pill(doctor.value.ok ? 'pass' : 'fail', doctor.value.ok ? 'Well' : 'Needs care'), shownOr(doctor, 'health/doctor', checks)),
      h('div', { class: 'stack', key: 'stack' },
        section('Agent CLIs', null, shownOr(adapters, 'health/adapters', adapterList)),
        section('Index worker', null, shownOr(worker, 'health/worker', workerFacts)),
        section('Heartbeat', beat && pill(beat.running ? 'running' : beat.enabled ? 'idle' : 'stopped', beat.running ? 'Ticking' : beat.enabled ? 'On' : 'Off'), beat ? heartbeatFacts(beat) : loading('Reading…')),
        section('Links to repositories', null, shownOr(projects, 'health/projects', links)),
        section('This server', null, shownOr(server, 'health/server', (s) => facts([['Version', s.version || state.version || none], ['Company', s.company || none], ['Workspace', s.workspace_dir || (state.snapshot && state.snapshot.workspace_dir) || none, 'mono'], ['Process', s.pid ? String(s.pid) : none], ['Stream', linkWords()], ...(s.dialects || []).map((d) => ['Clients of ' + d.name, d.address, 'mono'])])))))));
}

const verdict = (d) => {
  const bad = d.checks.filter((c) => c.status === 'fail').length, warn = d.checks.filter((c) => c.status === 'warn').length;
  return bad ? plural(bad, 'check') + ' failed' + (warn ? ', ' + plural(warn, 'warning') : '') : warn ? plural(warn, 'warning') : 'All checks pass';
};

const rankOf = { fail: 0, warn: 1, pass: 2 };
const checkWords = { pass: 'Pass', warn: 'Warning', fail: 'Fails' };

function checks(d) {
  const list = [...d.checks].sort((a, b) => rankOf[a.status] - rankOf[b.status]);
  return h('ul', { class: 'checks' }, list.map((c) => h('li', { key: c.id, class: 'check ' + c.status },
    h('div', { class: 'check-head' }, pill(c.status, checkWords[c.status] || sentence(c.status)), h('span', { class: 'check-id' }, words(c.id)), known(c.duration_ms) && h('span', { class: 'number quiet' }, count(c.duration_ms) + ' ms')),
    h('p', {}, c.message),
    c.details && c.details.length > 0 && h('details', {}, h('summary', {}, plural(c.details.length, 'detail')), h('ul', { class: 'details' }, c.details.slice(0, 200).map((t, i) => h('li', { key: i }, t)))),
    c.hint && c.status !== 'pass' && h('p', { class: 'check-hint' }, c.hint))));
}

const adapterList = (list) => h('ul', { class: 'adapters' }, list.map((a) => h('li', { key: a.name }, h('span', { class: 'adapter-name' }, words(a.name)), pill(a.available ? 'pass' : 'warn', a.available ? 'Available' : 'Missing'), a.reason && h('p', { class: 'quiet' }, a.reason))));

function workerFacts(w) {
  return facts([
    ['State', w.enabled ? (w.running ? 'syncing' : 'on') : 'off'],
    ['Pending', count(w.pending_workspaces)],
    ['Last run', w.last_run_at_ms ? ago(new Date(w.last_run_at_ms).toISOString(), state.now) : none],
    ['Syncs', count(w.total_workspace_sync_attempts)],
    ['Errors', count(w.total_workspace_sync_errors), w.total_workspace_sync_errors ? 'bad' : ''],
    w.last_error_message && ['Last error', w.last_error_message],
  ]);
}

function heartbeatFacts(b) {
  const s = b.stats || {};
  return facts([
    ['Every', plural(b.tick_interval_minutes, 'minute')],
    ['Last tick', b.last_tick_at ? ago(b.last_tick_at, state.now) : none],
    ['Next tick', b.next_tick_at ? clock(b.next_tick_at) : none],
    ['Ticks', count(s.ticks_total)],
    ['Woken', count(s.workers_woken_total)],
    ['Actions', count(s.actions_executed_total) + ' done, ' + count(s.approvals_queued_total) + ' queued'],
  ]);
}

function links(list) {
  const all = (list.projects || list || []).flatMap((p) => (p.repo_links || []).map((l) => ({ project: p.name, ...l })));
  if (!all.length) return h('p', { class: 'quiet' }, 'No repository is tied to a project yet..');
  return h('ul', { class: 'adapters' }, all.slice(0, 200).map((l, i) => h('li', { key: i }, h('span', { class: 'adapter-name' }, l.label || l.repo_id), h('span', { class: 'quiet' }, l.project))));
}

function linkWords() {
  if (state.link === 'live') return 'live';
  if (state.link === 'connecting') return 'connecting';
  return state.link === 'polling' ? 'polling every 5 s' : 'not connected';
}
