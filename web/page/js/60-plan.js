// Plan: the schedule of the project's tasks with its critical path, and the portfolio of all
// projects.

function planView() {
  if (state.route.id) return taskView(state.route.id);
  const name = 'plan/' + state.project;
  const plan = fetched(name, () => call('pm.snapshot', state.project ? { scope: 'project', project_id: state.project } : { scope: 'workspace' }), 20000);
  const summary = plan.value && plan.value.project && plan.value.project.summary;
  return h('div', { class: 'page', key: 'plan' },
    h('header', { class: 'pane-head' }, h('div', {}, h('h1', { tabindex: '-1', id: 'title' }, 'Plan'), h('p', { class: 'sub' }, summary ? plural(summary.task_count, 'task') + ' · ' + count(summary.done_tasks) + ' done · ' + count(summary.blocked_tasks) + ' blocked' : 'Portfolio, schedule and allocations')), state.project && planZoom()),
    h('div', { class: 'scroller', tabindex: '-1' }, shownOr(plan, name, (p) => [p.project && schedule(p.project), portfolio(p.workspace), state.project && allocations((p.project && p.project.gantt.tasks) || [])])));
}

function planZoom() {
  const { zoom = '', critical = '' } = state.route.query;
  return h('div', { class: 'filters' }, h('div', { class: 'switch', role: 'group', 'aria-label': 'How much of the plan' }, [['', 'All'], ['month', 'Month'], ['week', 'Week']].map(([id, text]) => button(text, () => setQuery({ zoom: id }), { kind: 'chip', key: id || 'all', pressed: zoom === id }))),
    button('Critical', () => setQuery({ critical: critical ? '' : '1' }), { kind: 'chip', key: 'critical', pressed: Boolean(critical) }));
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
        h('a', { class: 'project-name', href: hrefOf('now', '', '', { project: p.project_id }) }, oneLine(p.name), p.project_id === state.project && h('span', { class: 'note' }, 'this project')),
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
    gantt.tasks.length ? [ganttLegend(), ganttChart(state.route.query.critical ? gantt.tasks.filter((t) => t.critical) : gantt.tasks)] : empty('No task yet', 'Tasks of the project show here on a time line, with what the end depends on.', h('pre', {}, 'ac task:new <workspace> --project ' + state.project + ' --title "…"')));
}

const ganttLegend = () =>
  h('p', { class: 'legend' }, h('span', {}, h('span', { class: 'swatch critical' }), 'Critical path'), h('span', {}, h('span', { class: 'swatch' }), 'Has slack'), h('span', {}, h('span', { class: 'swatch slack' }), 'Slack'), h('span', {}, h('span', { class: 'swatch today' }), 'Today'));

// ganttSpan returns the time that the chart covers, and its scale: everything, a month or a week
// fills the width of the view.
function ganttSpan(tasks, seen) {
  const room = Math.max(320, seen.width || 900);
  const side = room > 720 ? Math.min(320, Math.round(room * 0.28)) : 0;
  const begin = Math.min(...tasks.map((t) => instant(t.start_at)));
  const end = Math.max(...tasks.map((t) => instant(t.end_at) + (t.slack_days || 0) * dayMs), begin + dayMs);
  const days = { week: 7, month: 31 }[state.route.query.zoom];
  const width = days ? Math.max(room, side + ((end - begin) / dayMs) * ((room - side) / days)) : room;
  return { side, begin, end, width, x: (at) => side + 12 + ((at - begin) / (end - begin)) * (width - side - 36) };
}

// ganttArrows draws an arrow from each dependency to its dependent task, for visible rows.
function ganttArrows(tasks, from, to, x) {
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
  return arrows;
}

// ganttChart draws the visible rows. A link to the task covers each.
function ganttChart(tasks) {
  if (!tasks.length) return h('p', { class: 'quiet' }, 'No task is on the critical path.');
  const seen = state.scroll.gantt || { top: 0, height: 480, width: 900 };
  const { side, begin, end, width, x } = ganttSpan(tasks, seen);
  const from = Math.max(0, Math.floor(seen.top / ganttRow) - 4);
  const to = Math.min(tasks.length, Math.ceil((seen.top + seen.height) / ganttRow) + 4);
  const marks = ticks(begin, end, width - side);
  const keep = (el) => {
    const next = { top: el.scrollTop, height: el.clientHeight, width: el.clientWidth };
    const old = state.scroll.gantt;
    if (old && Math.abs(old.top - next.top) < ganttRow / 2 && old.height === next.height && old.width === next.width) return;
    state.scroll.gantt = next;
    changed();
  };
  const height = tasks.length * ganttRow + 12;
  const today = Date.now();
  return h('div', { class: 'gantt', key: 'gantt' },
    h('div', { class: 'gantt-rows', id: 'rows-gantt', tabindex: '0', role: 'group', 'aria-label': 'Schedule, ' + plural(tasks.length, 'task'), style: { height: Math.min(height + 24, 560) + 'px' }, onscroll: (e) => keep(e.target),
      mounted: (el) => { el.acSize = new ResizeObserver(() => keep(el)); el.acSize.observe(el); }, unmounted: (el) => el.acSize.disconnect() },
      h('svg', { class: 'gantt-axis', width, height: 24, viewBox: '0 0 ' + width + ' 24', 'aria-hidden': 'true' }, marks.map((t) => h('text', { key: t, x: x(t), y: 16, 'text-anchor': t === begin ? 'start' : 'middle' }, day(t)))),
      h('div', { class: 'gantt-body', style: { width: width + 'px', height: height + 'px' } },
        h('svg', { width, height, viewBox: '0 0 ' + width + ' ' + height, 'aria-hidden': 'true' },
          h('defs', { key: 'defs' }, h('marker', { id: 'arrow-head', viewBox: '0 0 6 6', refX: 5, refY: 3, markerWidth: 6, markerHeight: 6, orient: 'auto', markerUnits: 'userSpaceOnUse' }, h('path', { class: 'arrow-head', d: 'M0 0L6 3L0 6Z' }))),
          h('g', { key: 'grid' }, marks.map((t) => h('line', { key: t, class: 'grid', x1: x(t), x2: x(t), y1: 0, y2: height }))),
          today >= begin && today <= end && h('line', { key: 'today', class: 'today', x1: x(today), x2: x(today), y1: 0, y2: height }),
          h('g', { key: 'arrows' }, ganttArrows(tasks, from, to, x)),
          h('g', { key: 'bars' }, tasks.slice(from, to).map((t, k) => ganttTask(t, from + k, x, side, width)))),
        h('ul', { class: 'gantt-links', 'aria-label': 'Tasks' }, tasks.slice(from, to).map((t, k) => h('li', { key: t.task_id }, h('a', { class: 'gantt-link', 'data-walk': true, href: hrefOf('plan', t.task_id), 'aria-label': taskSaid(t), title: taskSaid(t), style: { top: (from + k) * ganttRow + 'px' } })))))));
}

const taskSaid = (t) => oneLine(t.title) + ', ' + words(t.status) + ', ' + percent(t.progress_pct) + ', ' + moment(t.start_at) + ' to ' + moment(t.end_at) + ', ' + (t.critical ? 'on the critical path' : 'slack ' + plural(t.slack_days, 'day')) + (t.assignee_agent_id ? ', ' + personName(t.assignee_agent_id) : '');

function ganttTask(t, i, x, side, width) {
  const x1 = x(instant(t.start_at)), x2 = Math.max(x1 + 6, x(instant(t.end_at)));
  const top = i * ganttRow;
  const y = top + 27;
  const room = side ? side - 8 : Math.min(width, innerWidth) - 48;
  const most = Math.floor(room / 6.8);
  const look = t.status === 'done' ? ' done' : t.status === 'blocked' ? ' blocked' : t.status === 'canceled' ? ' canceled' : '';
  const under = [words(t.status), t.assignee_agent_id ? personName(t.assignee_agent_id) : '', t.critical ? 'critical' : t.slack_days ? 'slack ' + t.slack_days + ' d' : '', side ? '' : day(instant(t.start_at)) + '–' + day(instant(t.end_at))].filter(Boolean).join(' · ');
  const title = oneLine(t.title);
  return h('g', { key: t.task_id, class: 'gantt-task' + look },
    h('text', { class: 'gantt-name', x: side ? 4 : 12, y: top + 16 }, cut(side ? title : title + '  ·  ' + under, most)),
    side > 0 && h('text', { class: 'gantt-under', x: 4, y: top + 33 }, cut(under, most)),
    t.slack_days > 0 && t.status !== 'done' && h('rect', { class: 'gantt-slack', x: x2, y: y + 4, width: Math.max(0, x(instant(t.end_at) + t.slack_days * dayMs) - x2), height: 6, rx: 3 }),
    h('rect', { class: 'gantt-bar' + (t.critical ? ' critical' : ''), x: x1, y, width: x2 - x1, height: 14, rx: 4 }),
    t.progress_pct > 0 && h('rect', { class: 'gantt-done' + (t.critical ? ' critical' : ''), x: x1, y, width: Math.max(4, ((x2 - x1) * Math.min(100, t.progress_pct)) / 100), height: 14, rx: 4 }));
}

// ticks returns midnights, as many as stay readable.
function ticks(begin, end, width) {
  const steps = [1, 2, 7, 14, 30, 91, 182, 365, 1825];
  const room = Math.max(2, Math.floor(width / 90));
  const step = (steps.find((s) => (end - begin) / (s * dayMs) <= room) || Math.ceil((end - begin) / dayMs / room)) * dayMs;
  const out = [];
  for (let t = Math.ceil(begin / dayMs) * dayMs; t <= end && out.length < 60; t += step) out.push(t);
  return out.length ? out : [begin];
}
