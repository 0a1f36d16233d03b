// Plan: the portfolio, when the tasks of the project are due and which of them
// the end depends on, and who should do what.

const dayMs = 86400000;

function planView() {
  const name = 'plan/' + state.project;
  const plan = fetched(name, () => call('pm.snapshot', { scope: 'project', project_id: state.project }), 20000);
  return h('div', { class: 'page', key: 'plan' },
    h('header', { class: 'pane-head' }, h('div', {}, h('h1', { tabindex: '-1', id: 'title' }, 'Plan'), h('p', { class: 'sub' }, 'Portfolio, schedule and allocations'))),
    h('div', { class: 'scroller', tabindex: '-1' }, shownOr(plan, name, (p) => [portfolio(p.workspace), schedule(p.project), allocations()])));
}

function meter(value, label) {
  return h('span', { class: 'meter', role: 'img', 'aria-label': (label || 'Progress') + ' ' + percent(value) }, h('span', { class: 'meter-fill', style: { width: Math.min(100, value || 0) + '%' } }));
}

function portfolio(workspace) {
  if (!workspace) return null;
  const s = workspace.summary;
  return section('Portfolio', h('span', { class: 'note' }, plural(s.project_count, 'project')),
    h('div', { class: 'figures' }, figure('Progress', percent(s.progress_pct)), figure('Live runs', count(s.active_runs)), figure('Waiting', count(s.pending_reviews), s.pending_reviews ? 'approvals' : ''), figure('Blocked', count(s.blocked_projects), 'projects', s.blocked_projects ? 'bad' : ''), figure('Tokens', compact(s.total_tokens), 'in all')),
    h('ul', { class: 'projects' }, workspace.projects.slice(0, 200).map((p) =>
      h('li', { key: p.project_id, class: 'project' + (p.project_id === state.project ? ' chosen' : '') },
        h('span', { class: 'project-name' }, p.name, p.project_id === state.project && h('span', { class: 'note' }, 'this project')),
        h('span', { class: 'project-progress' }, meter(p.progress_pct), h('span', { class: 'number' }, percent(p.progress_pct))),
        h('span', { class: 'project-notes' }, plural(p.task_count, 'task'), p.active_runs > 0 && ' · ' + plural(p.active_runs, 'run') + ' live'),
        h('span', { class: 'project-risks' }, p.risk_flags.map((r) => h('span', { key: r, class: 'note ' + (r === 'pending_reviews' ? 'warn' : 'bad') }, r === 'blocked_tasks' ? plural(p.blocked_tasks, 'blocked task') : r === 'pending_reviews' ? plural(p.pending_reviews, 'review') + ' pending' : words(r))))))),
    workspace.projects.length > 200 && h('p', { class: 'quiet' }, 'and ' + count(workspace.projects.length - 200) + ' more'));
}

const ganttRow = 44;

function schedule(project) {
  if (!project) return null;
  const { gantt, summary } = project;
  const facts = plural(summary.task_count, 'task') + ' · ' + plural(gantt.project_span_days, 'day') + ' · ' + count(summary.done_tasks) + ' done' + (summary.blocked_tasks ? ' · ' + count(summary.blocked_tasks) + ' blocked' : '');
  return section('Schedule', h('span', { class: 'note' }, facts),
    gantt.cpm_status === 'dependency_cycle' && h('p', { class: 'fault' }, 'Tasks depend on each other in a circle: ' + (gantt.cycle_task_ids || []).join(', ') + '. Take one of these dependencies away (task:plan) to get a critical path.'),
    gantt.tasks.length ? [ganttLegend(), ganttChart(gantt.tasks)] : empty('No task yet', 'Tasks of the project show here on a time line, with what the end depends on.', h('pre', {}, 'ac task:new <workspace> --project ' + state.project + ' --title "…"')));
}

const ganttLegend = () =>
  h('p', { class: 'legend' }, h('span', {}, h('span', { class: 'swatch critical' }), 'Critical path'), h('span', {}, h('span', { class: 'swatch' }), 'Has slack'), h('span', {}, h('span', { class: 'swatch slack' }), 'Slack'), h('span', {}, h('span', { class: 'swatch today' }), 'Today'));

// ganttChart draws the rows that can be seen, and the arrows that begin or end
// among them.
function ganttChart(tasks) {
  const seen = state.scroll.gantt || { top: 0, height: 480, width: 900 };
  const width = Math.max(320, seen.width || 900);
  const side = width > 720 ? Math.min(320, Math.round(width * 0.28)) : 0;
  const begin = Math.min(...tasks.map((t) => instant(t.start_at)));
  const end = Math.max(...tasks.map((t) => instant(t.end_at) + (t.slack_days || 0) * dayMs), begin + dayMs);
  const span = end - begin;
  const x = (at) => side + 12 + ((at - begin) / span) * (width - side - 36);
  const from = Math.max(0, Math.floor(seen.top / ganttRow) - 4);
  const to = Math.min(tasks.length, Math.ceil((seen.top + seen.height) / ganttRow) + 4);
  const place = new Map(tasks.map((t, i) => [t.task_id, i]));
  const bar = (i) => i * ganttRow + 34;
  const arrows = [];
  for (let i = from; i < to && arrows.length < 600; i++) {
    for (const id of tasks[i].depends_on_task_ids || []) {
      const j = place.get(id);
      if (j === undefined || j === i) continue;
      const x1 = x(instant(tasks[j].end_at)), x2 = x(instant(tasks[i].start_at));
      const y1 = bar(j), y2 = bar(i);
      const near = x2 < x1 + 14;
      arrows.push(h('path', { key: id + '>' + tasks[i].task_id, class: 'arrow' + (tasks[i].critical && tasks[j].critical ? ' critical' : ''), d: near ? 'M' + x1 + ' ' + y1 + 'H' + (Math.max(x1, x2) + 5) + 'V' + (y2 > y1 ? y2 - 8 : y2 + 8) : 'M' + x1 + ' ' + y1 + 'H' + (x1 + 7) + 'V' + y2 + 'H' + (x2 - 2), 'marker-end': 'url(#arrow-head)' }));
    }
  }
  const keep = (el) => {
    const next = { top: el.scrollTop, height: el.clientHeight, width: el.clientWidth };
    const old = state.scroll.gantt;
    if (old && Math.abs(old.top - next.top) < ganttRow / 2 && old.height === next.height && old.width === next.width) return;
    state.scroll.gantt = next;
    changed();
  };
  const height = tasks.length * ganttRow + 12;
  const today = state.now;
  return h('div', { class: 'gantt', key: 'gantt' },
    h('svg', { class: 'gantt-axis', width, height: 24, viewBox: '0 0 ' + width + ' 24', 'aria-hidden': 'true' }, ticks(begin, end, width - side).map((t) => h('text', { key: t, x: x(t), y: 16, 'text-anchor': t === begin ? 'start' : 'middle' }, day(t)))),
    h('div', { class: 'gantt-rows', id: 'rows-gantt', tabindex: '0', role: 'group', 'aria-label': 'Schedule, ' + plural(tasks.length, 'task'), style: { height: Math.min(height, 560) + 'px' }, onscroll: (e) => keep(e.target),
      mounted: (el) => { el.acSize = new ResizeObserver(() => keep(el)); el.acSize.observe(el); }, unmounted: (el) => el.acSize.disconnect() },
      h('svg', { width, height, viewBox: '0 0 ' + width + ' ' + height, role: 'list', 'aria-label': 'Tasks' },
        h('defs', { key: 'defs' }, h('marker', { id: 'arrow-head', viewBox: '0 0 6 6', refX: 5, refY: 3, markerWidth: 6, markerHeight: 6, orient: 'auto', markerUnits: 'userSpaceOnUse' }, h('path', { class: 'arrow-head', d: 'M0 0L6 3L0 6Z' }))),
        h('g', { key: 'grid' }, ticks(begin, end, width - side).map((t) => h('line', { key: t, class: 'grid', x1: x(t), x2: x(t), y1: 0, y2: height }))),
        today >= begin && today <= end && h('line', { key: 'today', class: 'today', x1: x(today), x2: x(today), y1: 0, y2: height }),
        h('g', { key: 'arrows' }, arrows),
        h('g', { key: 'bars' }, tasks.slice(from, to).map((t, k) => ganttTask(t, from + k, x, side, width))))));
}

function ganttTask(t, i, x, side, width) {
  const x1 = x(instant(t.start_at)), x2 = Math.max(x1 + 6, x(instant(t.end_at)));
  const top = i * ganttRow;
  const y = top + 27;
  const said = t.title + ', ' + words(t.status) + ', ' + percent(t.progress_pct) + ', ' + moment(t.start_at) + ' to ' + moment(t.end_at) + ', ' + (t.critical ? 'on the critical path' : 'slack ' + plural(t.slack_days, 'day')) + (t.assignee_agent_id ? ', ' + agentName(t.assignee_agent_id) : '');
  const room = side ? side - 8 : width - 24;
  const most = Math.floor(room / 6.8);
  const look = t.status === 'done' ? ' done' : t.status === 'blocked' ? ' blocked' : t.status === 'canceled' ? ' canceled' : '';
  const under = [words(t.status), t.assignee_agent_id ? agentName(t.assignee_agent_id) : '', t.critical ? 'critical' : t.slack_days ? 'slack ' + t.slack_days + ' d' : ''].filter(Boolean).join(' · ');
  return h('g', { key: t.task_id, role: 'listitem', 'aria-label': said, class: 'gantt-task' + look }, h('title', {}, said),
    h('text', { class: 'gantt-name', x: side ? 4 : 12, y: top + 16 }, cut(side ? t.title : t.title + '  ·  ' + under, most)),
    side > 0 && h('text', { class: 'gantt-under', x: 4, y: top + 33 }, cut(under, most)),
    t.slack_days > 0 && t.status !== 'done' && h('rect', { class: 'gantt-slack', x: x2, y: y + 4, width: Math.max(0, x(instant(t.end_at) + t.slack_days * dayMs) - x2), height: 6, rx: 3 }),
    h('rect', { class: 'gantt-bar' + (t.critical ? ' critical' : ''), x: x1, y, width: x2 - x1, height: 14, rx: 4 }),
    t.progress_pct > 0 && h('rect', { class: 'gantt-done' + (t.critical ? ' critical' : ''), x: x1, y, width: Math.max(4, ((x2 - x1) * Math.min(100, t.progress_pct)) / 100), height: 14, rx: 4 }));
}

// ticks are midnights, as many as can be read.
function ticks(begin, end, width) {
  const steps = [1, 2, 7, 14, 30, 91, 182, 365, 1825];
  const room = Math.max(2, Math.floor(width / 90));
  const step = (steps.find((s) => (end - begin) / (s * dayMs) <= room) || Math.ceil((end - begin) / dayMs / room)) * dayMs;
  const out = [];
  for (let t = Math.ceil(begin / dayMs) * dayMs; t <= end && out.length < 60; t += step) out.push(t);
  return out.length ? out : [begin];
}

function allocations() {
  const name = 'plan/allocations';
  const entry = fetched(name, () => call('pm.recommend_allocations', { project_id: state.project }), 60000);
  return section('Allocations', h('span', { class: 'note' }, 'who should do what next'),
    shownOr(entry, name, ({ recommendations: list }) => {
      if (!list.length) return empty('No open task', 'When there are tasks to do, those who are best placed for them are named here.');
      const off = state.fields.allocationsOff || {};
      const items = list.filter((r) => !off[r.task_id]);
      return [
        h('ul', { class: 'allocations' }, list.slice(0, 300).map((r) => h('li', { key: r.task_id },
          h('label', { class: 'allocation' }, h('input', { type: 'checkbox', checked: !off[r.task_id], onchange: (e) => { state.fields.allocationsOff = { ...off, [r.task_id]: !e.target.checked }; changed(); } }),
            h('span', { class: 'allocation-what' }, h('span', { class: 'allocation-title' }, (state.tasks.get(r.task_id) || {}).title || r.task_id), h('span', { class: 'allocation-why' }, r.rationale)),
            h('span', { class: 'allocation-who' }, h('strong', {}, r.preferred_agent_id ? agentName(r.preferred_agent_id) : 'nobody fits'), h('span', {}, r.preferred_provider + (r.preferred_model ? ' · ' + r.preferred_model : '')), h('span', { class: 'number' }, compact(r.token_budget_hint) + ' tokens')))))),
        h('div', { class: 'actions end' }, h('span', { class: 'hint' }, 'Applies to all chosen tasks or to none'), button('Apply to ' + plural(items.length, 'task'), () => applyAllocations(items), { kind: 'primary', disabled: !items.length || state.applying })),
      ];
    }));
}

async function applyAllocations(items) {
  state.applying = true;
  changed();
  try {
    const done = await call('pm.apply_allocations', { project_id: state.project, items });
    say('Applied to ' + plural(done.updated_task_ids.length, 'task') + '.');
    stale('plan/*');
    learnt.at = 0;
    learnNames();
  } catch (error) {
    say('Nothing was applied: ' + error.message, true);
  }
  state.applying = false;
  changed();
}
