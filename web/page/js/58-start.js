// Start: who does what, where, and with which rights. Nothing starts before its plan is shown.
// Drafts stay in this browser, one for each project.

const withoutDriver = ['cmd', 'manual', 'manager'];

const startProject = () => state.project || startDraft('').project || [...rowsOf('projects').keys()][0] || '';

// startDraft returns the draft of a project.
function startDraft(project) {
  const drafts = (state.starts ||= {});
  if (!drafts[project]) {
    try {
      drafts[project] = JSON.parse(memory.get('start/' + project) || '{}');
    } catch {
      drafts[project] = {};
    }
  }
  return drafts[project];
}

function keepStart(project, values) {
  Object.assign(startDraft(project), values);
  memory.set('start/' + project, JSON.stringify(startDraft(project)));
  changed();
}

// takeAsked copies the values in the address into the draft, once.
function takeAsked(project) {
  const { agent, task, from } = state.route.query;
  const asked = [agent, task, from].join('|');
  if (state.startAsked === asked) return;
  state.startAsked = asked;
  const draft = startDraft(project);
  if (agent) draft.agent = agent;
  if (task) draft.task = task;
}

function startView() {
  const project = startProject();
  takeAsked(project);
  const { from } = state.route.query;
  return h('div', { class: 'page', key: 'start' },
    h('header', { class: 'pane-head' }, h('div', {}, h('h1', { tabindex: '-1', id: 'title' }, 'Start'), h('p', { class: 'sub' }, from ? 'Another run like one that is over' : 'Give an agent something to do'))),
    h('div', { class: 'scroller', tabindex: '-1' }, from ? retryForm(project, from) : startForm(project)));
}

// choice is a labelled select.
const choice = (name, label, value, list, onchange) =>
  h('label', { class: 'start-field', key: name }, h('span', {}, label), h('select', { class: 'field', 'data-field': name, value, onchange: (e) => onchange(e.target.value) }, list.map(([v, t]) => h('option', { value: v, key: v }, t))));

const line1 = (name, label, draft, keep, more) =>
  h('label', { class: 'start-field', key: name }, h('span', {}, label), h('input', { class: 'field', 'data-field': name, value: draft[name] || '', autocomplete: 'off', oninput: (e) => keep({ [name]: e.target.value }), ...more }));

const words1 = (name, label, draft, keep, more) =>
  h('label', { class: 'start-field wide', key: name }, h('span', {}, label), h('textarea', { class: 'field', 'data-field': name, rows: 6, value: draft[name] || '', oninput: (e) => keep({ [name]: e.target.value }), ...more }));

const startLists = (project) => ({
  tasks: fetched('start/tasks/' + project, () => call('task.list', { project_id: project }), 30000).value,
  defaults: fetched('start/defaults/' + project, () => call('policy.defaults.get', { project_id: project }), 60000).value,
});

const agentChoices = () => [...rowsOf('people')].map(([id, row]) => [id, oneLine(row.name, 60) + ' · ' + oneLine(row.provider, 30) + (row.live ? ' · ' + row.live + ' live' : '')]).sort((a, b) => a[1].localeCompare(b[1]));

function startForm(project) {
  const { tasks, defaults } = startLists(project);
  const draft = startDraft(project);
  const keep = (values) => keepStart(project, values);
  const agents = agentChoices();
  const agent = rowOf('people', draft.agent);
  const command = agent && withoutDriver.includes(agent.provider);
  const list = ((tasks && tasks.tasks) || []).filter((t) => !['done', 'canceled'].includes(t.frontmatter.status));
  const repos = rowOf('projects', project)?.repos || [];
  const repo = draft.repo ?? (repos[0] ? repos[0].repo_id : '');
  const isolation = draft.isolation || (repo ? 'worktree' : 'none');
  const mode = draft.mode || (defaults && defaults.mode) || 'default';
  const ready = tableOf('projects').has(project); // its repositories are known
  const review = () => beginStart(project, ready && { draft, command, repo, isolation, mode });
  if (state.startWaits && ready) {
    state.startWaits = false;
    queueMicrotask(review);
  }
  if (!project) return empty('No project yet', 'Work belongs to a project. Make one in a terminal:', h('pre', {}, 'ac project:new <workspace> --name "…"'));
  return h('form', { class: 'card start', key: 'form', onsubmit: (event) => event.preventDefault(), onkeydown: sends(review) },
    !state.project && choice('project', 'Project', project, [...rowsOf('projects')].map(([id, row]) => [id, oneLine(row.name, 80)]), (value) => keepStart('', { project: value })),
    choice('agent', 'Agent', draft.agent || '', [['', 'Choose an agent'], ...agents], (value) => keep({ agent: value })),
    choice('task', 'Task', draft.task || '', [['', 'No task'], ...list.map((t) => [t.task_id, oneLine(t.frontmatter.title, 120)])], (value) => keep({ task: value, milestone: '' })),
    newTask(project, keep),
    command ? words1('command', 'Command', draft, keep, { rows: 3, 'aria-describedby': 'start-words' }) : words1('prompt', 'Prompt', draft, keep),
    command && h('p', { class: 'quiet wide', id: 'start-words', key: 'words' }, 'Runs as ', h('code', {}, JSON.stringify(wordsOfCommand(draft.command || '')))),
    choice('repo', 'Where', repo, [['', 'The folder of the project'], ...repos.map((r) => [r.repo_id, oneLine(r.label || r.repo_id, 80)])], (value) => keep({ repo: value, isolation: '' })),
    choice('isolation', 'In', isolation, repo ? [['worktree', 'its own worktree'], ['none', 'the repository itself']] : [['none', 'the folder itself']], (value) => keep({ isolation: value })),
    !command && choice('mode', 'Rights', mode, modes.map(([v]) => [v, modeWords[v]]), (value) => keep({ mode: value })),
    line1('model', 'Model', draft, keep, { placeholder: 'default' }),
    line1('budget', 'Budget', draft, keep, { placeholder: '$2.00 or 200k tokens' }),
    moreOfStart(draft, keep, list),
    state.startError && h('p', { class: 'fault wide', role: 'alert' }, state.startError),
    h('div', { class: 'actions wide' }, boot.launch
      ? [act('start', 'Review and start…', review, { kind: 'primary' }), h('span', { class: 'hint' }, 'Ctrl+Enter shows what would be done')]
      : [button('Copy command', () => copyStart(project, { draft, command, repo, isolation, mode }), { kind: 'primary', key: 'copy' }), h('span', { class: 'hint' }, 'This control room was started without --allow-launch: start it in a terminal.')]));
}

function newTask(project, keep) {
  const open = state.fields.newTaskOpen;
  const make = async () => {
    const title = (state.fields.newTask || '').trim();
    if (!title) return;
    try {
      const made = await call('task.create', { project_id: project, title });
      Object.assign(state.fields, { newTask: '', newTaskOpen: false });
      stale('start/tasks/' + project);
      keep({ task: made.task_id });
      say('The task is there.');
    } catch (error) {
      say('No task was made: ' + error.message, true);
    }
  };
  const flip = () => {
    state.fields.newTaskOpen = !open;
    changed();
    if (!open) focusDrawn(() => document.getElementById('field-newTask'));
  };
  return h('div', { class: 'start-field new-task', key: 'new-task' },
    open ? h('div', { class: 'inline' }, field('newTask', 'Title of the new task', { maxlength: 200, onkeydown: (e) => e.key === 'Enter' && (e.preventDefault(), make()) }), button('Create', make, { key: 'make' }))
      : button('+ new task', flip, { key: 'new' }));
}

function moreOfStart(draft, keep, tasks) {
  const task = tasks.find((t) => t.task_id === draft.task);
  const milestones = (task && task.frontmatter.milestones) || [];
  const over = [...rowsOf('runs')].filter(([, row]) => row.ended && inProject(row)).slice(0, 40);
  return h('details', { class: 'wide', key: 'more' }, h('summary', {}, 'More: title, milestone, level, base run, keep open'), h('div', { class: 'start-more' },
    line1('title', 'Title', draft, keep, { maxlength: 500 }),
    milestones.length > 0 && choice('milestone', 'Milestone', draft.milestone || '', [['', 'None'], ...milestones.map((m) => [m.id, oneLine(m.title, 80)])], (value) => keep({ milestone: value })),
    choice('level', 'Level', draft.level || '', [['', 'As usual for the agent'], ...levels], (value) => keep({ level: value })),
    choice('base', 'Base run', draft.base || '', [['', 'None'], ...over.map(([id, row]) => [id, oneLine(row.title || id, 60)])], (value) => keep({ base: value })),
    h('label', { class: 'choice' }, h('input', { type: 'checkbox', checked: Boolean(draft.keepOpen), onchange: (e) => keep({ keepOpen: e.target.checked }) }), 'Keep the session open between turns')));
}

// wordsOfCommand splits a command into words. Of shell syntax it knows only quotes and backslashes.
function wordsOfCommand(text) {
  const out = [];
  for (const match of text.matchAll(/(?:"(?:[^"\\]|\\.)*"|'[^']*'|\\.|[^\s"'\\])+/g)) {
    out.push(match[0].replace(/"((?:[^"\\]|\\.)*)"|'([^']*)'|\\(.)/g, (_, double, single, one) => (double !== undefined ? double.replace(/\\(["\\$`])/g, '$1') : single !== undefined ? single : one)));
  }
  return out;
}

const budgetHint = 'A budget is like $2.00, or 200k tokens.';

// budgetOf parses "$2.00" and "200k tokens", separated by commas, or nothing. It returns null for
// other text.
function budgetOf(text) {
  const budget = {};
  for (const part of (text || '').split(',').map((one) => one.trim()).filter(Boolean)) {
    const cost = /^\$\s*(\d+(?:\.\d+)?)$|^(\d+(?:\.\d+)?)\s*usd$/i.exec(part);
    const tokens = /^(\d+(?:\.\d+)?)\s*([kM]?)\s*(?:tok(?:ens?)?)?$/i.exec(part);
    if (cost) budget.hard_cost_usd = +(cost[1] || cost[2]);
    else if (tokens) budget.hard_tokens = Math.round(+tokens[1] * { '': 1, k: 1e3, m: 1e6 }[tokens[2].toLowerCase()]);
    else return null;
  }
  return budget;
}

// paramsOfStart returns the params of run.start, or what is missing.
function paramsOfStart(project, { draft, command, repo, isolation, mode }) {
  const budget = budgetOf(draft.budget);
  const argv = wordsOfCommand(draft.command || '');
  if (!draft.agent) return { missing: 'agent', why: 'Choose an agent first.' };
  if (command && !argv.length) return { missing: 'command', why: 'Write the command to run.' };
  if (!command && !(draft.prompt || '').trim() && !draft.task) return { missing: 'prompt', why: 'Write what is to be done, or choose a task.' };
  if (!budget) return { missing: 'budget', why: budgetHint };
  const params = { project_id: project, agent_id: draft.agent };
  if (repo) params.isolation = isolation;
  if (command) params.argv = argv;
  else Object.assign(params, { prompt_text: draft.prompt || '', mode });
  const given = { task_id: draft.task, milestone_id: draft.milestone, repo_id: repo, model: (draft.model || '').trim(), title: (draft.title || '').trim(), permission_level: draft.level, base_run_id: isolation === 'worktree' ? draft.base : '' };
  for (const name in given) if (given[name]) params[name] = given[name];
  if (Object.keys(budget).length) params.budget = budget;
  if (draft.keepOpen) params.keep_open = true;
  return { params };
}

function beginStart(project, form) {
  state.startWaits = !form; // until the project's repositories are known
  if (!form) return;
  const { params, missing, why } = paramsOfStart(project, form);
  state.startError = why || '';
  changed();
  if (missing) {
    focusDrawn(() => document.querySelector('[data-field="' + missing + '"]'));
    return;
  }
  if (!boot.launch) return;
  reviewStart('run.start', params, (run) => {
    keepStart(project, { prompt: '', command: '', title: '' });
    leaveTo(project, run);
  });
}

// leaveTo shows a run that was just started.
function leaveTo(project, run) {
  say('It is started.');
  go('runs', run.run_id, 'transcript', { project });
}

const isolationOption = (params) => (params.isolation === 'worktree' ? '--worktree' : '--here');

const quoted = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : "'" + text.replace(/'/g, "'\\''") + "'");

function copyStart(project, form) {
  const { params, why } = paramsOfStart(project, form);
  state.startError = why || '';
  changed();
  if (!params) return;
  const { hard_cost_usd: cost, hard_tokens: tokens } = params.budget || {};
  const limits = [known(cost) && ['--budget-usd', String(cost)], known(tokens) && ['--budget-tokens', String(tokens)]].filter(Boolean).flat();
  const place = boot.workspace || '<workspace>';
  const options = [['project', params.project_id], ['agent', params.agent_id], ['mode', params.mode], ['level', params.permission_level], ['model', params.model], ['repo', params.repo_id], ['task', params.task_id], ['milestone', params.milestone_id]].filter(([, v]) => v).flatMap(([k, v]) => ['--' + k, v]);
  const words = params.argv
    ? ['ac', 'run', '-C', place, '-p', project, '--agent', params.agent_id, isolationOption(params), '--', ...params.argv].filter(Boolean)
    : ['ac', 'run:launch', place, ...(params.prompt_text ? [params.prompt_text] : []), ...options, ...limits];
  copyText(words.map((w) => (w === '<workspace>' ? w : quoted(w))).join(' '), 'The command is copied.');
}

// retryForm starts another run like an ended one, with optional changes.
function retryForm(project, from) {
  const row = rowOf('runs', from);
  const draft = startDraft('from/' + from);
  const keep = (values) => keepStart('from/' + from, values);
  const of = (row && row.p) || project;
  const review = () => {
    const budget = budgetOf(draft.budget);
    state.startError = budget ? '' : budgetHint;
    changed();
    if (!budget) return;
    const params = { project_id: of, run_id: from };
    if ((draft.prompt || '').trim()) params.prompt_text = draft.prompt;
    if ((draft.model || '').trim()) params.model = draft.model.trim();
    if (Object.keys(budget).length) params.budget = budget;
    reviewStart('run.retry', params, (run) => leaveTo(of, run));
  };
  return h('form', { class: 'card start', key: 'retry', onsubmit: (event) => event.preventDefault(), onkeydown: sends(review) },
    h('p', { class: 'wide' }, 'Like ', h('a', { class: 'text-link', href: hrefOf('runs', from, 'transcript', { project: of }) }, oneLine((row && row.title) || from)), row ? ', by ' + personName(row.agent) : '', '. What is empty stays as it was.'),
    words1('prompt', 'Prompt', draft, keep, { placeholder: 'as it was' }), line1('model', 'Model', draft, keep, { placeholder: 'as it was' }), line1('budget', 'Budget', draft, keep, { placeholder: 'as it was' }),
    state.startError && h('p', { class: 'fault wide', role: 'alert' }, state.startError),
    h('div', { class: 'actions wide' }, boot.launch ? act('start', 'Review and start…', review, { kind: 'primary' }) : button('Copy command', () => copyText('ac run:retry ' + quoted(boot.workspace || '<workspace>') + ' ' + from, 'The command is copied.'), { kind: 'primary', key: 'copy' })));
}
