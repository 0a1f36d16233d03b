// People: teams and their agents, and one colleague with what they did.

const personHeight = 56;

function peopleList() {
  const seen = new Map(colleagues().map((c) => [c.agent_id, c]));
  const everyone = new Map(state.agents.map((a) => [a.agent_id, { ...a, ...seen.get(a.agent_id) }]));
  for (const c of colleagues()) if (!everyone.has(c.agent_id)) everyone.set(c.agent_id, c);
  const wanted = (state.fields.people || '').trim().toLowerCase();
  const list = [...everyone.values()].filter((a) => !wanted || [a.name, a.agent_id, a.role, a.provider, a.display_title, a.team_name].some((v) => v && v.toLowerCase().includes(wanted)));
  const byTeam = new Map();
  for (const a of list) {
    const team = a.team_id || '';
    if (!byTeam.has(team)) byTeam.set(team, []);
    byTeam.get(team).push(a);
  }
  const rank = { ceo: 0, director: 1, manager: 2, worker: 3 };
  const order = [...byTeam.keys()].sort((a, b) => (a === '' ? -1 : b === '' ? 1 : teamName(a).localeCompare(teamName(b))));
  const items = [];
  for (const team of order) {
    const members = byTeam.get(team).sort((a, b) => rank[a.role] - rank[b.role] || a.name.localeCompare(b.name));
    items.push({ team, size: members.length });
    items.push(...members);
  }
  for (const team of state.teams) if (!byTeam.has(team.team_id) && !wanted) items.push({ team: team.team_id, size: 0 });
  return items;
}

const initials = (name) => (name || '?').split(/\s+/).map((w) => w[0]).slice(0, 2).join('').toUpperCase();

const face = (name, status) => h('span', { class: 'face', 'aria-hidden': 'true' }, initials(name), status && h('span', { class: 'dot ' + (tones[status] || '') }));

function personRow(a, i) {
  if (a.team !== undefined) return h('div', { key: 'team/' + a.team, role: 'listitem', class: 'team-row', style: placed(i, personHeight) }, h('h2', {}, a.team ? teamName(a.team) : 'Across the company'), h('span', { class: 'note' }, plural(a.size, 'agent')));
  const chosen = state.route.id === a.agent_id;
  return h('div', { key: a.agent_id, role: 'listitem', class: 'person-row' + (chosen ? ' chosen' : ''), style: placed(i, personHeight) },
    h('a', { href: '#/people/' + encodeURIComponent(a.agent_id), 'aria-current': chosen ? 'true' : undefined }, face(a.name, a.status || 'idle'),
      h('span', { class: 'person-what' }, h('strong', {}, a.name), h('span', {}, [a.display_title || sentence(a.role), a.provider].filter(Boolean).join(' · '))),
      h('span', { class: 'person-state' }, a.active_runs ? plural(a.active_runs, 'run') + ' live' : a.pending_reviews ? plural(a.pending_reviews, 'review') : a.last_seen_at ? ago(a.last_seen_at, state.now) : '')));
}

function peopleView() {
  const items = peopleList();
  return h('div', { class: 'split' + (state.route.id ? ' opened' : ''), key: 'people' },
    h('div', { class: 'pane list-pane' },
      h('header', { class: 'pane-head' }, h('div', {}, h('h1', { tabindex: '-1', id: 'title' }, 'People'), h('p', { class: 'sub' }, plural(state.agents.length || colleagues().length, 'agent') + ' in ' + plural(state.teams.length, 'team'))), h('div', { class: 'filters' }, field('people', 'Filter people', { type: 'search', 'data-filter': true }))),
      !state.snapshot ? loading('Reading the company…') : items.length ? rows({ name: 'people', items, height: personHeight, row: personRow, label: 'Teams and agents' }) : empty('Nobody here', state.fields.people ? 'Nobody fits this filter.' : 'Hire the first agent in a terminal:', !state.fields.people && h('pre', {}, 'ac agent:new <workspace> --name Ada --role worker --provider codex'))),
    state.route.id && colleaguePane(state.route.id));
}

// doings are what concerns a colleague, the newest first.
function doings(id) {
  const artifact = (state.fields.byArtifact || '').trim();
  const run = (state.fields.byRun || '').trim();
  const comments = ((state.snapshot && state.snapshot.comments) || []).filter((c) => c.target.agent_id === id);
  const all = [
    ...monitorRows().filter((r) => r.agent_id === id).map((r) => ({ key: 'r' + r.run_id, at: r.created_at, run: r.run_id, tone: tones[statusOf(r)], title: 'Run ' + statusOf(r), said: lastSaid(r), href: '#/runs/' + encodeURIComponent(r.run_id), id: r.run_id })),
    ...inboxPart().pending.filter((p) => p.produced_by === id).map((p) => ({ key: 'p' + p.artifact_id, at: p.created_at, artifact: p.artifact_id, run: p.run_id, tone: 'warn', title: 'Waits for a decision', said: p.title || p.artifact_type, href: '#/pending/' + encodeURIComponent(p.artifact_id), id: p.artifact_id })),
    ...inboxPart().recent_decisions.filter((d) => d.actor_id === id).map((d) => ({ key: 'd' + d.review_id, at: d.created_at, artifact: d.subject_artifact_id, run: d.run_id, tone: tones[d.decision], title: sentence(d.decision), said: d.notes || words(d.subject_kind), id: d.subject_artifact_id })),
    ...comments.map((c) => ({ key: 'c' + c.id, at: c.created_at, artifact: c.target.artifact_id, run: c.target.run_id, tone: '', title: 'Note by ' + agentName(c.author_id), said: c.body, id: c.target.artifact_id || c.target.run_id })),
  ];
  return all.filter((e) => (!artifact || (e.artifact || '').includes(artifact)) && (!run || (e.run || '').includes(run))).sort((a, b) => (instant(b.at) || 0) - (instant(a.at) || 0));
}

function colleaguePane(id) {
  const known_ = { ...state.agents.find((a) => a.agent_id === id), ...colleagues().find((c) => c.agent_id === id) };
  const profile = fetched('profile/' + id, () => call('agent.profile.snapshot', { agent_id: id, project_id: state.project }), 30000);
  const list = doings(id);
  const m = profile.value && profile.value.metrics;
  const a = profile.value && profile.value.agent;
  const keep = async () => {
    const body = (state.fields.colleagueNote || '').trim();
    if (!body) return;
    const target = { target_agent_id: id };
    if ((state.fields.byArtifact || '').trim()) target.target_artifact_id = state.fields.byArtifact.trim();
    if ((state.fields.byRun || '').trim()) target.target_run_id = state.fields.byRun.trim();
    if (await addNote(target, body)) {
      state.fields.colleagueNote = '';
      changed();
    }
  };
  return h('article', { class: 'pane detail', key: 'colleague/' + id, 'aria-label': 'Colleague ' + id },
    h('header', { class: 'detail-head' }, h('a', { class: 'icon-button back', href: '#/people', 'aria-label': 'Back to all people' }, icon('back')), face(known_.name || id, known_.status),
      h('div', { class: 'detail-title' }, h('h2', { tabindex: '-1', id: 'detail-title' }, known_.name || id), h('p', { class: 'sub' }, [known_.display_title, sentence(known_.role), known_.provider, known_.team_name || teamName(known_.team_id)].filter(Boolean).join(' · '))), known_.status && pill(known_.status)),
    h('div', { class: 'scroller', tabindex: '0' },
      m ? h('div', { class: 'figures' }, figure('Runs', count(m.total_runs), m.running_runs ? plural(m.running_runs, 'run') + ' live' : ''), figure('Failed', count(m.failed_runs), '', m.failed_runs ? 'bad' : ''), figure('Tokens', compact(m.total_tokens)), figure('Cost', money(m.total_cost_usd), 'of priced runs'), figure('Context cycles', count(m.context_cycles_count), m.context_cycles_count === null ? 'not told' : ''), figure('With us', a ? plural(a.tenure_days, 'day') : none)) : profile.error ? h('p', { class: 'quiet' }, profile.error) : loading('Reading the profile…'),
      h('div', { class: 'compose' },
        h('div', { class: 'compose-about' }, field('byArtifact', 'About artifact (id)', {}), field('byRun', 'About run (id)', {})),
        field('colleagueNote', 'A note to ' + (known_.name || id), { rows: 3, onkeydown: sends(keep) }, 'textarea'),
        h('div', { class: 'compose-foot' }, h('span', { class: 'hint' }, 'Ctrl+Enter sends. The ids filter what is below, too.'), button('Send note', keep, { kind: 'primary', disabled: !(state.fields.colleagueNote || '').trim() }))),
      list.length ? h('ol', { class: 'timeline wide' }, list.slice(0, 400).map((e) => h('li', { key: e.key }, dot(e.tone || ''), h('span', { class: 'entry-said' }, h('span', { class: 'timeline-title' }, e.title, e.id && (e.href ? h('a', { class: 'id', href: e.href }, brief(e.id)) : h('span', { class: 'id' }, brief(e.id)))), h('span', { class: 'timeline-said' }, cut(e.said, 400))), h('time', { title: moment(e.at) }, ago(e.at, state.now)))))
        : empty('Nothing here', 'Runs, proposals, decisions and notes of this colleague show here.')));
}
