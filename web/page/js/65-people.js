// People: everybody by name, and one person's runs, costs, memory and notes.

const initials = (name) => (name || '?').split(/\s+/).map((w) => w[0]).slice(0, 2).join('').toUpperCase();

const face = (name, status) => h('span', { class: 'face', 'aria-hidden': 'true' }, initials(name), status && h('span', { class: 'dot ' + (tones[status] || '') }));

// presenceOf returns the status for a person's dot: running if the person has a live run.
const presenceOf = (row) => (row.live > 0 && state.link !== 'lost' ? 'running' : row.status);

const readTeams = () => fetched('people/teams', () => call('workspace.teams.list'), 120000);

function teamName(id) {
  const { value } = readTeams();
  const team = (Array.isArray(value) ? value : (value && value.teams) || []).find((t) => t.team_id === id);
  return team ? oneLine(team.name) : id || '';
}

// costsToday returns each person's usage today, as Cost computes it.
function costsToday() {
  const today = localDay(Date.now());
  const entry = fetched('people/costs/' + state.project, () => call('usage.series', { from: today, to: today, by: 'agent', bucket: 'day', timezone_offset_minutes: timeZoneOffset(Date.now()), ...(state.project ? { project_id: state.project } : {}) }), 60000);
  return new Map(((entry.value && entry.value.buckets) || []).flatMap((b) => Object.entries(b.keys).map(([key, cell]) => [key, figuresOf([cell])])));
}

function peopleView() {
  if (state.route.id) return personView(state.route.id);
  const everybody = [...rowsOf('people')];
  const team = state.route.query.team || '';
  const teams = [...new Set(everybody.map(([, row]) => row.team).filter(Boolean))];
  const list = everybody.filter(([, row]) => !team || row.team === team).sort((a, b) => a[1].name.localeCompare(b[1].name));
  const costs = costsToday();
  return h('div', { class: 'page', key: 'people' },
    h('header', { class: 'pane-head' }, h('div', {}, h('h1', { tabindex: '-1', id: 'title' }, 'People'), h('p', { class: 'sub' }, plural(everybody.length, 'agent') + ' in ' + plural(teams.length, 'team'))),
      h('div', { class: 'filters' }, h('select', { class: 'field', 'aria-label': 'Team', value: team, onchange: (e) => setQuery({ team: e.target.value }) }, h('option', { value: '', key: '' }, 'All teams'), teams.map((id) => h('option', { value: id, key: id }, teamName(id)))))),
    h('div', { class: 'scroller', tabindex: '-1' }, list.length ? h('ul', { class: 'people-grid' }, list.map(([id, row]) => personCard(id, row, costs.get(id)))) : empty('Nobody here', 'Hire the first agent in a terminal:', h('pre', {}, 'ac agent:new <workspace> --name Ada --role worker --provider codex'))));
}

const personCard = (id, row, cost) => h('li', { key: id, class: 'person' },
  h('a', { class: 'person-link', 'data-person': id, href: hrefOf('people', id) }, face(row.name, presenceOf(row)), h('span', { class: 'person-what' }, h('strong', {}, oneLine(row.name)), h('span', {}, [row.role, row.provider, row.team && teamName(row.team)].filter(Boolean).map((t) => oneLine(t)).join(' · ')))),
  h('p', { class: 'person-figures' }, [plural(row.live || 0, 'run') + ' live', row.waiting ? plural(row.waiting, 'thing') + ' to decide' : '', cost && costWords(cost) + ' today'].filter(Boolean).join(' · ')),
  h('div', { class: 'actions' }, h('a', { class: 'button', href: hrefOf('start', '', '', { agent: id }), 'aria-label': 'Start a run of ' + oneLine(row.name) }, 'Start'), h('a', { class: 'button', href: hrefOf('people', id, 'say'), 'aria-label': 'Say something to ' + oneLine(row.name) }, 'Say')));

// costWords formats costs of several kinds as one text, with signs.
const costWords = (f) => (f.reported + f.rate ? money(f.reported + f.rate) : '') + (f.estimated ? ' ~' + money(f.estimated) : '') || (f.unpriced ? compact(f.unpriced) + ' tokens unpriced' : money(0));

function personView(id) {
  const row = rowOf('people', id);
  if (!row) return h('div', { class: 'page', key: 'nobody' }, h('header', { class: 'pane-head' }, h('h1', { tabindex: '-1', id: 'title' }, 'Nobody')), empty('There is no ' + oneLine(id, 80), 'This person may have left, or was never here.', h('a', { class: 'button', href: hrefOf('people') }, 'Back to People')));
  const runs = [...rowsOf('runs')].filter(([, r]) => r.agent === id);
  const needs = [...rowsOf('needs')].filter(([, n]) => n.who === id);
  return h('div', { class: 'page', key: 'person/' + id },
    h('header', { class: 'pane-head' }, h('div', { class: 'task-head' }, h('a', { class: 'icon-button', href: hrefOf('people'), 'aria-label': 'Back to People' }, icon('back')), face(row.name, presenceOf(row)),
      h('div', {}, h('h1', { tabindex: '-1', id: 'title' }, oneLine(row.name)), h('p', { class: 'sub' }, [row.role, row.provider, row.team && teamName(row.team)].filter(Boolean).map((t) => oneLine(t)).join(' · ')))),
    h('div', { class: 'actions' }, h('a', { class: 'button primary', href: hrefOf('start', '', '', { agent: id }) }, 'Start'))),
    h('div', { class: 'scroller', tabindex: '0', role: 'region', 'aria-label': oneLine(row.name) },
      profileSection(id), sayTo(id, row),
      needs.length > 0 && section('Needs you', h('span', { class: 'note' }, count(needs.length)), h('ul', { class: 'plain-list' }, needs.map(([key, n]) => h('li', { key }, h('a', { class: 'run-line', 'data-need': key, 'data-kind': n.kind, href: hrefOf('needs', key) }, h('span', { class: 'note' }, words(n.kind)), h('span', { class: 'run-line-what' }, oneLine(n.title)), agoSince(n.at)))))),
      section('Runs', h('span', { class: 'note' }, count(runs.length)), runs.length ? h('ul', { class: 'plain-list' }, runs.slice(0, 100).map(([key, r]) => runLink(key, r))) : h('p', { class: 'quiet' }, 'No run so far.')),
      personCosts(id), personMemory(id), personComments(id)));
}

function profileSection(id) {
  const profile = fetched('people/profile/' + id, () => call('agent.profile.snapshot', { agent_id: id, ...(state.project ? { project_id: state.project } : {}) }), 60000);
  const m = profile.value && profile.value.metrics;
  const a = profile.value && profile.value.agent;
  return section('In all', null, m ? h('div', { class: 'figures' }, figure('Runs', count(m.total_runs), m.running_runs ? plural(m.running_runs, 'run') + ' live' : ''), figure('Failed', count(m.failed_runs), '', m.failed_runs ? 'bad' : ''), figure('Tokens', compact(m.total_tokens)), figure('Cost', money(m.total_cost_usd), 'of priced runs'), figure('With us', a ? plural(a.tenure_days, 'day') : none)) : profile.error ? h('p', { class: 'quiet' }, profile.error) : loading('Reading the profile…'));
}

// noteProject returns the project of a note to a person. If all projects are shown, it is the one
// chosen in the form.
const noteProject = () => state.project || state.fields['say-about'] || [...rowsOf('projects')].sort(byName)[0]?.[0] || '';
const noteProjectField = () => h('label', { class: 'policy-choice', key: 'about' }, h('span', {}, 'About'), h('select', { class: 'field', 'data-field': 'project', value: noteProject(), onchange: (e) => { state.fields['say-about'] = e.target.value; changed(); } }, [...rowsOf('projects')].sort(byName).map(([key, p]) => h('option', { key, value: key }, oneLine(p.name, 60)))));

// sayTo is a form that adds a note to a person.
function sayTo(id, row) {
  const name = 'say-to/' + id;
  const text = (state.fields[name] || '').trim();
  const keep = async () => {
    const body = (state.fields[name] || '').trim();
    if (body && (await addNote({ target_agent_id: id, project_id: noteProject() }, body))) {
      state.fields[name] = '';
      changed();
    }
  };
  return section('Say', null, h('div', { class: 'compose' }, field(name, 'A note to ' + oneLine(row.name), { rows: 3, onkeydown: sends(keep), mounted: (el) => state.route.tab === 'say' && setTimeout(() => el.focus(), 150) }, 'textarea'),
    text && h('div', { class: 'preview' }, markdown(text, { key: 'preview', label: 'Preview' })),
    h('div', { class: 'compose-foot' }, h('span', { class: 'hint' }, 'Markdown. Ctrl+Enter sends.'),
      !state.project && noteProjectField(),
      button('Send note', keep, { kind: 'primary', disabled: !text }))));
}

function personCosts(id) {
  const to = localDay(Date.now()), from = localDay(Date.now() - 13 * dayMs);
  const entry = fetched('people/cost/' + id + state.project, () => call('usage.series', { from, to, by: 'agent', bucket: 'day', timezone_offset_minutes: timeZoneOffset(Date.now()), ...(state.project ? { project_id: state.project } : {}) }), 60000);
  const days = ((entry.value && entry.value.buckets) || []).map((b) => [String(b.at).slice(0, 10), b.keys[id] && figuresOf([b.keys[id]])]).filter(([, f]) => f);
  return section('Cost by day', h('a', { class: 'text-link', href: hrefOf('cost', '', '', { by: 'agent' }) }, 'All of it'), days.length ? h('div', { class: 'table-scroll', tabindex: '0', role: 'region', 'aria-label': 'Cost by day' }, h('table', {},
    h('thead', {}, h('tr', {}, ['Day', 'Runs', 'Cost', 'Tokens'].map((t, i) => h('th', { key: t, scope: 'col', class: i ? 'number' : '' }, t)))),
    h('tbody', {}, days.reverse().map(([key, f]) => h('tr', { key }, h('th', { scope: 'row' }, dayName(key)), h('td', { class: 'number' }, count(f.runs)), h('td', { class: 'number' }, costWords(f)), h('td', { class: 'number' }, (f.guessed ? '~' : '') + compact(f.tokens + f.guessed))))))) : h('p', { class: 'quiet' }, entry.error || 'Nothing in the last 14 days.'));
}

// personMemory shows the memory lines that this person proposed.
function personMemory(id) {
  const entry = fetched('people/memory/' + state.project, () => call('memory.list_deltas', state.project ? { project_id: state.project } : {}), 60000);
  const list = ((entry.value && entry.value.items) || []).filter((d) => d.produced_by === id).slice(0, 30);
  return section('Memory', h('span', { class: 'note' }, count(list.length)), list.length ? h('ul', { class: 'notes' }, list.map((d) => h('li', { key: d.artifact_id }, h('div', { class: 'note-head' }, h('a', { class: 'text-link', href: d.status === 'pending' ? hrefOf('needs', 'memory:' + d.artifact_id) : hrefOf('decided', d.artifact_id) }, oneLine(d.title)), pill(d.status), agoSince(d.created_at)), memoryText(d)))) : h('p', { class: 'quiet' }, entry.error || 'Nothing was proposed.'));
}

function memoryText(d) {
  const entry = fetched('people/memory/text/' + d.artifact_id, () => call('artifact.read', { project_id: d.project_id, artifact_id: d.artifact_id }));
  return entry.value ? markdown(String(entry.value.markdown || '').replace(/^---\r?\n[\s\S]*?\r?\n---\r?\n/, ''), { key: 'text' }) : null;
}

// notesAbout reads the notes to a person, in the project or in all of them.
async function notesAbout(id) {
  const projects = state.project ? [state.project] : [...tableOf('projects').keys()];
  const answers = await Promise.all(projects.map((project) => read('/api/comments?target_agent_id=' + encodeURIComponent(id) + '&project_id=' + encodeURIComponent(project))));
  return { comments: answers.flatMap((one) => one.comments).sort((a, b) => (a.created_at < b.created_at ? 1 : -1)) };
}

function personComments(id) {
  const entry = fetched('comments/person/' + id + state.project, () => notesAbout(id), 60000);
  const list = (entry.value && entry.value.comments) || [];
  return section('Notes', h('span', { class: 'note' }, count(list.length)), list.length ? h('ol', { class: 'notes' }, list.map(noteView)) : h('p', { class: 'quiet' }, 'No note yet.'));
}
