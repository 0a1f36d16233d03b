// One task: its contract, its milestones with their criteria, and its runs.

const taskTitle = (id) => {
  const entry = state.cache['start/tasks/' + state.project];
  const task = entry && entry.value && entry.value.tasks.find((t) => t.task_id === id);
  return task ? task.frontmatter.title : '';
};

function taskView(id) {
  const project = state.project || [...rowsOf('projects').keys()][0] || '';
  const name = 'plan/task/' + id;
  const entry = fetched(name, () => call('task.get', { project_id: project, task_id: id }), 20000);
  const task = entry.value && entry.value.frontmatter;
  return h('div', { class: 'page', key: 'task/' + id },
    h('header', { class: 'pane-head' }, h('div', { class: 'task-head' }, h('a', { class: 'icon-button', href: hrefOf('plan'), 'aria-label': 'Back to the plan' }, icon('back')),
      h('div', {}, h('h1', { tabindex: '-1', id: 'title' }, task ? oneLine(task.title) : entry.error ? 'No such task' : 'Task'), task && h('p', { class: 'sub' }, [sentence(task.status), task.assignee_agent_id && personName(task.assignee_agent_id)].filter(Boolean).join(' · ')))),
    task && h('div', { class: 'actions' }, h('a', { class: 'button primary', href: hrefOf('start', '', '', { task: id, agent: task.assignee_agent_id, project }) }, 'Start with this task'))),
    h('div', { class: 'scroller', tabindex: '0', role: 'region', 'aria-label': 'Task' }, entry.error && entry.reason === 'not_found' ? empty('There is no such task', 'It may be of another project.', h('a', { class: 'button', href: hrefOf('plan') }, 'Back to the plan')) : shownOr(entry, name, taskBody)));
}

function taskBody({ frontmatter, body, milestones, runs }) {
  const list = milestones || frontmatter.milestones || [];
  return [
    section('Contract', null, String(body || '').trim() ? markdown(body, { key: 'body', label: 'Contract of the task' }) : h('p', { class: 'quiet' }, 'Nothing is written down.')),
    section('Milestones', h('span', { class: 'note' }, count(list.length)), list.length ? h('ol', { class: 'milestones' }, list.map((m) => h('li', { key: m.id },
      h('p', {}, pill(m.status), ' ', h('strong', {}, oneLine(m.title)), ' ', h('span', { class: 'quiet' }, words(m.kind))),
      (m.acceptance_criteria || []).length ? h('ul', { class: 'details' }, m.acceptance_criteria.map((c, i) => h('li', { key: i }, plainText(c)))) : h('p', { class: 'quiet' }, 'No criteria.')))) : h('p', { class: 'quiet' }, 'This task has no milestone.')),
    section('Runs', h('span', { class: 'note' }, count((runs || []).length)), (runs || []).length ? h('ul', { class: 'plain-list' }, runs.slice(0, 200).map((id) => runLink(id, rowOf('runs', id)))) : h('p', { class: 'quiet' }, 'No run was about it yet.')),
  ];
}

// runLink is a run as one line.
function runLink(id, row) {
  return h('li', { key: id }, h('a', { class: 'run-line', 'data-run': id, href: hrefOf('runs', id, 'transcript', row ? { project: row.p } : {}) },
    row ? pill(row.status) : dot(''), h('span', { class: 'run-line-what' }, row ? oneLine(row.title || id) : id), row && h('span', { class: 'quiet' }, personName(row.agent)), row && (row.ended || row.started) && agoSince(row.ended || row.started)));
}
