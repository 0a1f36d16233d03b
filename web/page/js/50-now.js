// Now, the Run Monitor: what runs and ran, and one run opened.

const runHeight = 76;

function runTokens(row) {
  const live = state.runs.get(row.run_id);
  const told = row.token_usage;
  const estimated = told ? told.source === 'estimated_chars' : Boolean(live && live.estimated);
  const tokens = told && known(told.total_tokens) ? Math.max(told.total_tokens, (live && live.tokens) || 0) : live ? live.tokens : null;
  const cost = told && known(told.cost_usd) ? told.cost_usd : live ? live.cost : null;
  return { tokens, cost, estimated };
}

function elapsed(row) {
  const from = row.session_started_at_ms || instant(row.created_at);
  if (!Number.isFinite(from)) return null;
  if (row.session_ended_at_ms) return row.session_ended_at_ms - from;
  if (running(row)) return state.now - from;
  const last = row.last_event && instant(row.last_event.ts_wallclock);
  return Number.isFinite(last) ? last - from : null;
}

function taskOf(row) {
  const id = state.runTask.get(row.run_id);
  const task = id && state.tasks.get(id);
  return task ? task.title : id || '';
}

// governance tells the worst first.
function governance(row) {
  const policy = 'policy denied ' + row.policy_denied_count + '/' + row.policy_decision_count;
  return [
    row.policy_denied_count > 0 && h('span', { key: 'p', class: 'note bad' }, policy),
    row.budget_exceeded_count > 0 && h('span', { key: 'x', class: 'note bad' }, 'budget exceeded ' + row.budget_exceeded_count),
    row.budget_alert_count > 0 && h('span', { key: 'a', class: 'note warn' }, 'budget alerts ' + row.budget_alert_count),
    row.parse_error_count > 0 && h('span', { key: 'e', class: 'note bad' }, plural(row.parse_error_count, 'parse error')),
    row.policy_denied_count === 0 && row.policy_decision_count > 0 && h('span', { key: 'p', class: 'note plain' }, policy),
    row.budget_decision_count > 0 && h('span', { key: 'b', class: 'note plain' }, 'budget ' + row.budget_decision_count),
  ];
}

function lastSaid(row) {
  const live = state.runs.get(row.run_id);
  if (/^waiting_/.test(row.activity || '')) return 'Waits for an answer' + (live && live.line ? ': ' + live.line : '');
  if (live && live.line) return live.line;
  if (row.live_error) return row.live_error;
  if (!begun(row)) return 'Made, never launched';
  return row.last_event ? sentence(row.last_event.type) : 'Nothing yet';
}

function matching() {
  const wanted = (state.fields.runs || '').trim().toLowerCase();
  const status = state.fields.status || '';
  return monitorRows().filter((row) => {
    if (status && statusOf(row) !== status) return false;
    if (!wanted) return true;
    return [row.run_id, row.agent_id, agentName(row.agent_id), row.provider, taskOf(row), row.run_status].some((v) => v && v.toLowerCase().includes(wanted));
  });
}

function runRow(row, i) {
  const { tokens, cost, estimated } = runTokens(row);
  const task = taskOf(row);
  const chosen = state.open && state.open.id === row.run_id;
  const failed = (tones[statusOf(row)] || '');
  return h('div', { key: row.run_id, role: 'listitem', style: placed(i, runHeight), class: 'run-row' + (chosen ? ' chosen' : ''), 'aria-setsize': monitorRows().length, 'aria-posinset': i + 1 },
    h('a', { class: 'run-link', href: '#/runs/' + encodeURIComponent(row.run_id), 'aria-current': chosen ? 'true' : undefined, 'data-run': row.run_id },
      h('span', { class: 'run-state ' + failed }, dot(failed), h('span', { class: 'run-status' }, sentence(statusOf(row)))),
      h('span', { class: 'run-what' },
        h('span', { class: 'run-title' }, h('strong', {}, agentName(row.agent_id)), task && h('span', { class: 'run-task' }, task), h('span', { class: 'id' }, brief(row.run_id))),
        h('span', { class: 'run-said' }, governance(row), h('span', { class: 'said' }, lastSaid(row)))),
      h('span', { class: 'run-figures' },
        h('span', { class: 'run-elapsed' }, duration(elapsed(row))),
        h('span', { class: 'run-usage' }, tokens === null ? 'no usage yet' : (estimated ? '~' : '') + compact(tokens) + ' tok', h('span', { class: 'run-cost' }, known(cost) ? money(cost) : tokens === null || running(row) ? '' : 'unpriced')))));
}

function nowView() {
  const all = monitorRows();
  const list = matching();
  const live = all.filter(running);
  const opened = state.route.id;
  if (opened) openRun(opened);
  else closeRun();
  const jobs = (state.snapshot && state.snapshot.monitor && state.snapshot.monitor.jobs) || null;
  const chosen = opened ? list.findIndex((r) => r.run_id === opened) : -1;
  return h('div', { class: 'split' + (opened ? ' opened' : ''), key: 'now' },
    h('div', { class: 'pane list-pane' },
      h('header', { class: 'pane-head' },
        h('div', {}, h('h1', { tabindex: '-1', id: 'title' }, 'Now'), h('p', { class: 'sub' }, 'Run Monitor · ' + (live.length ? plural(live.length, 'run') + ' live' : 'nothing runs') + (jobs && (jobs.running || jobs.queued) ? ' · ' + plural(jobs.running + jobs.queued, 'job') : ''))),
        h('div', { class: 'filters' },
          field('runs', 'Filter runs', { type: 'search', 'data-filter': true }),
          h('select', { class: 'field', 'aria-label': 'Status', value: state.fields.status || '', onchange: (e) => { state.fields.status = e.target.value; changed(); } },
            [['', 'Any status'], ['new', 'New'], ['running', 'Running'], ['ended', 'Ended'], ['failed', 'Failed'], ['stopped', 'Stopped']].map(([v, t]) => h('option', { value: v, key: v }, t))))),
      !state.snapshot ? loading('Reading runs…')
        : !all.length ? empty('No run yet', 'A run shows here the moment it is made. Start one in a terminal:', h('pre', {}, 'ac run:new <workspace> --project ' + state.project + ' --agent <agent> --provider codex\nac run:execute <workspace> --project ' + state.project + ' --run <run> --argv codex exec "…"'))
          : !list.length ? empty('No run fits', 'Nothing among ' + plural(all.length, 'run') + ' fits this filter.', button('Clear the filter', () => { state.fields.runs = ''; state.fields.status = ''; changed(); }))
            : rows({ name: 'runs', items: list, height: runHeight, row: runRow, label: 'Runs', active: chosen })),
    opened && runPane(all.find((r) => r.run_id === opened)));
}

// usageCurve draws what a run used over time.
function usageCurve(points) {
  if (points.length < 2) return null;
  const width = 300, height = 64;
  const from = points[0].at, to = points[points.length - 1].at || from + 1;
  const most = Math.max(...points.map((p) => p.tokens), 1);
  const x = (p) => (to > from ? ((p.at - from) / (to - from)) * width : 0).toFixed(1);
  const y = (p) => (height - 4 - (p.tokens / most) * (height - 10)).toFixed(1);
  const line = points.map((p, i) => (i ? 'L' : 'M') + x(p) + ' ' + y(p)).join('');
  return h('figure', { class: 'curve' },
    h('svg', { viewBox: '0 0 ' + width + ' ' + height, preserveAspectRatio: 'none', role: 'img', 'aria-label': 'Tokens over time, up to ' + count(most) },
      h('path', { class: 'curve-area', d: line + 'L' + width + ' ' + height + 'L0 ' + height + 'Z' }), h('path', { class: 'curve-line', d: line })),
    h('figcaption', {}, h('span', {}, clock(new Date(from).toISOString())), h('span', {}, compact(most) + ' tokens'), h('span', {}, clock(new Date(to).toISOString()))));
}

function chainState(open) {
  if (open.busy && open.verified === null) return h('span', { class: 'note' }, 'Verifying…');
  if (open.error) return h('span', { class: 'note warn' }, 'Not verified');
  if (open.verified) return h('span', { class: 'note good' }, open.cut ? 'Chain holds (newest ' + count(replayTail) + ')' : 'Chain holds');
  const first = open.issues[0];
  return h('span', { class: 'note bad' }, first ? 'Chain broken at ' + first.seq : 'Chain broken');
}

function runPane(row) {
  const open = state.open;
  const told = row || { run_id: open.id, run_status: 'unknown' };
  const { tokens, cost, estimated } = runTokens(told);
  const live = running(told);
  if (live) open.live = true;
  else if (open.live && !open.busy) {
    // It ended while somebody looked: the whole log is verified once more.
    open.live = false;
    queueMicrotask(reopenRun);
  }
  const comments = fetched('comments/' + open.id, () => read('/api/comments?target_run_id=' + encodeURIComponent(open.id)));
  const notes = (comments.value && comments.value.comments) || [];
  const decided = open.events.filter((e) => kindOf(e.event.type) === 'decisions');
  return h('article', { class: 'pane detail', key: 'run/' + open.id, 'aria-label': 'Run ' + open.id },
    h('header', { class: 'detail-head' },
      h('a', { class: 'icon-button back', href: '#/now', 'aria-label': 'Back to all runs' }, icon('back')),
      h('div', { class: 'detail-title' },
        h('h2', { tabindex: '-1', id: 'detail-title' }, agentName(told.agent_id), taskOf(told) && h('span', { class: 'run-task' }, taskOf(told))),
        h('p', { class: 'id' }, open.id)),
      h('div', { class: 'actions' },
        live && (open.stopping
          ? h('span', { class: 'confirm', role: 'group', 'aria-label': 'Stop this run?' }, button('Stop it', () => stopRun(told), { kind: 'danger', key: 'yes' }), button('Keep it', () => { open.stopping = false; changed(); }, { key: 'no' }))
          : button('Stop', () => { open.stopping = true; changed(); }, { key: 'stop', hint: 'Ask the session to stop (s)' })),
        button('Replay', () => { reopenRun(); say('Reading and verifying the log again.'); }, { key: 'replay', hint: 'Read the log again and verify its chain (v)', disabled: open.busy }))),
    h('div', { class: 'detail-figures' },
      h('div', { class: 'figure' }, h('span', { class: 'figure-name' }, 'Status'), pill(statusOf(told))),
      figure('Elapsed', duration(elapsed(told))),
      figure('Tokens', tokens === null ? none : (estimated ? '~' : '') + count(tokens), tokens === null ? '' : estimated ? 'estimated' : 'reported'),
      figure('Cost', known(cost) ? money(cost) : none, known(cost) || tokens === null ? '' : live ? 'priced at the end' : 'unpriced'),
      h('div', { class: 'figure' }, h('span', { class: 'figure-name' }, 'Log'), chainState(open))),
    usageCurve(open.usage),
    open.issues.length > 0 && h('div', { class: 'fault', role: 'alert' }, h('p', {}, 'The log does not fit its chain: ' + open.issues[0].what + (open.issues.length > 1 ? ' (and ' + (open.issues.length - 1) + ' more)' : '') + '.'), h('p', {}, 'Compare with a share pack or a backup of this run before you trust what follows it.')),
    tabs('Parts of the run', [['transcript', 'Transcript'], ['events', 'Events', open.events.length], ['decisions', 'Decisions', decided.length], ['notes', 'Notes', notes.length]], open.tab, (id) => { open.tab = id; changed(); }),
    open.error && !open.events.length ? fault(open.error, reopenRun)
      : open.tab === 'events' ? eventsTab(open)
        : open.tab === 'decisions' ? decisionsTab(told, decided)
          : open.tab === 'notes' ? notesTab(open, notes)
            : transcriptTab(open, live));
}

const pageOfEntries = 240;

function transcriptTab(open, live) {
  const list = open.transcript.list();
  const box = speakingBox(open);
  if (!list.length) return h('div', { class: 'tab-body', key: 'transcript' }, !open.followed ? loading('Reading the transcript…') : empty('No output yet', live ? 'What the agent writes shows here as it comes.' : 'This run wrote nothing.'), box);
  const to = open.follow || !open.to ? list.length : Math.min(open.to, list.length);
  const from = Math.max(0, to - pageOfEntries);
  return h('div', { class: 'tab-body', key: 'transcript' }, h('div', { class: 'scroller transcript', key: 'scroller', role: 'log', 'aria-live': 'off', 'aria-label': 'Transcript', tabindex: '0',
    mounted: (el) => {
      const keep = () => { if (state.open && state.open.follow) el.scrollTop = el.scrollHeight; };
      el.acWatch = [new MutationObserver(keep), new ResizeObserver(keep)];
      el.acWatch[0].observe(el, { childList: true, subtree: true, characterData: true });
      el.acWatch[1].observe(el);
      el.scrollTop = el.scrollHeight;
    },
    unmounted: (el) => el.acWatch && el.acWatch.forEach((one) => one.disconnect()),
    onscroll: (event) => {
      const el = event.target;
      const atEnd = el.scrollHeight - el.scrollTop - el.clientHeight < 40;
      if (atEnd === open.follow) return;
      open.follow = atEnd && !(open.to && open.to < list.length);
      if (!open.follow && !open.to) open.to = list.length;
      if (open.follow) open.to = 0;
      changed();
    } },
    (from > 0 || open.transcript.dropped > 0) && h('div', { class: 'older', key: 'older' },
      from > 0 ? button('Show what came before', () => { open.follow = false; open.to = Math.max(pageOfEntries, from + 20); changed(); }) : h('span', {}, 'Older items are in the log of the run; here are the newest ' + count(list.length) + '.')),
    list.slice(from, to).map(itemView),
    to < list.length && h('div', { class: 'older', key: 'newer' }, button(count(list.length - to) + ' new below', () => { open.follow = true; open.to = 0; changed(); })),
    live && open.follow && h('div', { class: 'writing', key: 'writing' }, dot('live'), 'Follows live')), box);
}

const eventHeight = 36;

function eventsTab(open) {
  const kinds = [['all', 'All'], ['output', 'Output'], ['run', 'Run'], ['decisions', 'Decisions'], ['usage', 'Usage'], ['notes', 'Notes']];
  if (!open.filtered || open.filteredBy !== open.kind) {
    open.filtered = open.kind === 'all' ? open.events.slice().reverse() : open.events.filter((e) => kindOf(e.event.type) === open.kind).reverse();
    open.filteredBy = open.kind;
  }
  return h('div', { class: 'tab-body', key: 'events' },
    h('div', { class: 'chips', role: 'group', 'aria-label': 'Kinds of events' }, kinds.map(([id, text]) => button(text, () => { open.kind = id; changed(); }, { kind: 'chip', key: id, pressed: open.kind === id }))),
    !open.filtered.length ? empty('No such event', 'This run has none of this kind so far.')
      : rows({ name: 'events/' + open.id + open.kind, items: open.filtered, height: eventHeight, label: 'Events, the newest first', row: ({ seq, event, key }, i) =>
        h('div', { key, role: 'listitem', class: 'event-row', style: placed(i, eventHeight) },
          h('span', { class: 'event-seq' }, seq || ''), h('time', { title: moment(event.ts_wallclock) }, clock(event.ts_wallclock)),
          h('span', { class: 'event-type' }, dot(toneOf(event)), event.type || 'unknown'), h('span', { class: 'event-said', title: cut(tell(event), 400) }, cut(tell(event), 300))) }));
}

function decisionsTab(row, decided) {
  const policy = row.latest_policy_decision;
  const budget = row.latest_budget_decision;
  return h('div', { class: 'scroller', key: 'decisions', tabindex: '0' },
    (policy || budget) && h('p', { class: 'lead' }, policy && 'Last policy: ' + (policy.allowed ? 'allowed' : 'denied') + ' ' + (policy.action || '') + ' by ' + (policy.rule_id || 'no rule') + ' (' + words(policy.reason) + '). ', budget && 'Last budget: ' + budget.metric + ' of the ' + budget.scope + ', ' + words(budget.result) + ', ' + count(budget.actual) + ' of ' + count(budget.threshold) + '.'),
    !decided.length ? empty('Nothing was decided', 'Policy and budget decisions about this run show here with their rule.')
      : h('ol', { class: 'timeline' }, decided.map(({ event, key }) => h('li', { key, class: toneOf(event) }, dot(toneOf(event)), h('span', { class: 'entry-said' }, tell(event), (event.payload || {}).phase && h('span', { class: 'note' }, event.payload.phase)), h('time', { title: moment(event.ts_wallclock) }, clock(event.ts_wallclock))))));
}

function notesTab(open, notes) {
  const keep = async () => {
    const body = (state.fields.note || '').trim();
    if (body && (await addNote({ target_run_id: open.id }, body))) {
      state.fields.note = '';
      changed();
    }
  };
  return h('div', { class: 'scroller', key: 'notes', tabindex: '0' },
    h('div', { class: 'compose' }, field('note', 'A note about this run', { rows: 3, onkeydown: sends(keep) }, 'textarea'), h('div', { class: 'compose-foot' }, h('span', { class: 'hint' }, 'Ctrl+Enter sends'), button('Add note', keep, { kind: 'primary', disabled: !(state.fields.note || '').trim() }))),
    !notes.length ? empty('No note yet', 'What you write here stays with the run, in its log too.') : h('ol', { class: 'notes' }, notes.map(noteView)));
}

const noteView = (c) =>
  h('li', { key: c.id, class: 'said-note' }, h('div', { class: 'note-head' }, h('strong', {}, agentName(c.author_id)), h('span', { class: 'note' }, c.author_role), h('time', { title: moment(c.created_at) }, ago(c.created_at, state.now))), h('p', {}, c.body));
