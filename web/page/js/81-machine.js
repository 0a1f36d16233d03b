// The machine's parts on Health: index, heartbeat, agent programs, this server, other machines.

function machineParts() {
  const adapters = fetched('health/adapters', () => call('adapter.status'), 120000);
  const worker = fetched('health/worker', () => call('index.sync_worker_status'), 15000);
  const beat = fetched('health/heartbeat', () => call('heartbeat.status'), 15000);
  const server = fetched('health/server', () => read('/api/health'), 60000);
  const meta = rowOf('meta', 'server') || {};
  return h('div', { class: 'stack', key: 'stack' },
    section('Index', h('div', { class: 'actions' }, button(state.rebuilding ? 'Rebuilding…' : 'Rebuild', rebuildIndex, { disabled: Boolean(state.rebuilding), key: 'rebuild' })), shownOr(worker, 'health/worker', (w) => indexFacts(w, meta.index || {}))),
    section('Heartbeat', beat.value && button('Tick now…', askTick, { key: 'tick' }), shownOr(beat, 'health/heartbeat', heartbeatFacts)),
    section('Agent programs', null, shownOr(adapters, 'health/adapters', adapterList)),
    meta.machines && section('Machines', null, machineList(meta.machines)),
    section('This server', null, shownOr(server, 'health/server', (s) => facts([
      ['Version', s.version || state.version || none], ['Company', oneLine(s.company || none)], ['Workspace', s.workspace_dir || none, 'mono'], ['Process', s.pid ? String(s.pid) : none],
      ['Starting', boot.launch ? 'allowed from this page' : 'by command only (no --allow-launch)'], ...(s.dialects || []).map((d) => ['Clients of ' + d.name, d.address, 'mono']),
    ]))));
}

function indexFacts(w, index) {
  const stats = fetched('health/stats', () => call('index.stats'), state.rebuilding ? 1000 : 60000).value || {};
  return facts([
    ['State', index.state ? words(index.state) : w.enabled ? (w.running ? 'syncing' : 'on') : 'off'],
    known(index.behind) && ['Behind', plural(index.behind, 'change')],
    ['Runs', count(stats.runs)],
    ['Events', count(stats.events)],
    ['Worker', w.enabled ? (w.running ? 'syncing' : 'on') + ', ' + count(w.pending_workspaces) + ' pending' : 'off'],
    ['Last sync', w.last_run_at_ms ? agoSince(w.last_run_at_ms) : none],
    ['Errors', count(w.total_workspace_sync_errors), w.total_workspace_sync_errors ? 'bad' : ''],
    w.last_error_message && ['Last error', oneLine(w.last_error_message, 300)],
  ]);
}

// rebuildIndex rebuilds the index. Meanwhile it shows the growing statistics.
async function rebuildIndex() {
  state.rebuilding = setInterval(() => stale('health/stats'), 1000);
  changed();
  try {
    await call('index.rebuild', {});
    say('The index is made anew.');
  } catch (error) {
    say('Not rebuilt: ' + error.message, true);
  }
  clearInterval(state.rebuilding);
  state.rebuilding = null;
  stale('health/*');
}

function heartbeatFacts({ config, state: kept, runtime }) {
  const s = (kept && kept.stats) || {};
  return facts([
    ['State', config.enabled ? (runtime && runtime.tick_in_progress ? 'ticking' : 'on') : 'off'],
    ['Every', plural(config.tick_interval_minutes, 'minute')],
    ['Last tick', kept && kept.last_tick_at ? agoSince(kept.last_tick_at) : none],
    ['Next tick', runtime && runtime.next_scheduled_at ? clock(runtime.next_scheduled_at) : none],
    ['Ticks', count(s.ticks_total)],
    ['Woken', count(s.workers_woken_total)],
    ['Actions', count(s.actions_executed_total) + ' done, ' + count(s.approvals_queued_total) + ' queued'],
  ]);
}

function askTick() {
  openDialog({
    name: 'tick', title: 'Tick now?', confirm: 'Tick now',
    body: () => h('p', {}, 'The heartbeat wakes the workers who have something to do, and carries out the actions that its rules allow.'),
    run: async () => {
      await call('heartbeat.tick', {});
      say('It ticked.');
      stale('health/heartbeat');
    },
  });
}

const adapterList = (list) => h('ul', { class: 'adapters' }, list.map((a) => h('li', { key: a.name },
  h('span', { class: 'adapter-name' }, words(a.name)), pill(a.available ? 'pass' : 'warn', a.available ? 'Ready' : 'Not ready'),
  (a.program || a.version || a.reason) && h('p', { class: 'quiet' }, [a.program, a.version, a.reason].filter(Boolean).map((t) => oneLine(t, 300)).join(' · ')))));

const machineList = (list) => h('ul', { class: 'adapters' }, list.map((m) => h('li', { key: m.worker_id || m.name },
  h('span', { class: 'adapter-name' }, oneLine(m.name || m.worker_id)), pill(m.status === 'online' ? 'pass' : 'warn', sentence(m.status || 'unknown')),
  h('p', { class: 'quiet' }, [known(m.slots) && (known(m.used) ? m.used + ' of ' : '') + plural(m.slots, 'slot'), m.last_beat_at && 'last beat ' + clock(m.last_beat_at), known(m.lag_ms) && count(m.lag_ms) + ' ms behind'].filter(Boolean).join(' · ')))));
