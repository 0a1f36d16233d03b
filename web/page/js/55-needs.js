// Needs you, the Pending Approvals: one item at a time, what it would change, and
// a decision. Recent Decisions stay beside it with their rule.

const proposals = {
  memory_delta: 'asks to change a memory',
  milestone_report: 'reports a milestone as done',
  heartbeat_action_proposal: 'proposes an action',
};

function currentItem() {
  const list = inboxPart().pending;
  const at = Math.max(0, list.findIndex((i) => i.artifact_id === state.route.id));
  return { list, at, item: list[at] };
}

function stepItem(by) {
  const { list, at } = currentItem();
  if (!list.length) return;
  const next = list[Math.min(list.length - 1, Math.max(0, at + by))];
  location.hash = '#/pending/' + encodeURIComponent(next.artifact_id);
}

function beginDecision(decision) {
  const { item } = currentItem();
  if (!item) return;
  state.deciding = { id: item.artifact_id, decision, busy: false };
  state.fields.notes = '';
  changed();
  focusDrawn(() => document.getElementById('field-notes'));
}

async function decide(item, preview) {
  const { decision } = state.deciding;
  const { list, at } = currentItem();
  const next = list[at + 1] || list[at - 1];
  state.deciding.busy = true;
  changed();
  try {
    const params = { project_id: item.project_id, artifact_id: item.artifact_id, decision, notes: (state.fields.notes || '').trim() };
    if (decision === 'approved' && preview && preview.hash) params.expect_hash = preview.hash;
    const answered = params.expect_hash ? await call('ui.resolve', params) : await send('/api/ui/resolve', { artifact_id: params.artifact_id, decision, notes: params.notes });
    state.deciding = null;
    if (next) location.hash = '#/pending/' + encodeURIComponent(next.artifact_id);
    takeSnapshot(answered.snapshot);
    say((decision === 'approved' ? 'Approved: ' : 'Denied: ') + (item.title || item.artifact_id));
    stale('reviews', 'preview/*', 'plan/*');
  } catch (error) {
    state.deciding = null;
    if (error.status === 409) {
      stale('preview/' + item.artifact_id);
      say('Nothing was decided: ' + error.message + ' The preview is being read again.', true);
    } else say('Nothing was decided: ' + error.message, true);
  }
  changed();
}

function needsView() {
  const { list, at, item } = currentItem();
  const asks = openAsks();
  const head = h('header', { class: 'pane-head' },
    h('div', {}, h('h1', { tabindex: '-1', id: 'title' }, 'Needs you'), h('p', { class: 'sub' }, 'Pending Approvals · ' + (list.length ? count(at + 1) + ' of ' + count(list.length) : 'none waits') + (asks.length ? ' · ' + plural(asks.length, 'agent waits', 'agents wait') + ' for an answer' : ''))),
    list.length > 1 && h('div', { class: 'actions' }, button('Previous', () => stepItem(-1), { disabled: at === 0, hint: 'k' }), button('Next', () => stepItem(1), { disabled: at >= list.length - 1, hint: 'j' })));
  if (!state.snapshot) return h('div', { class: 'page', key: 'needs' }, head, loading('Reading what waits…'));
  return h('div', { class: 'page needs', key: 'needs' }, head,
    h('div', { class: 'needs-body' },
      h('div', { class: 'needs-main' }, asks.map((record) => askCard(record, true)), item ? itemCard(item) : !asks.length && empty('Nothing waits for you', 'Questions and proposals of your agents show here: permissions, changes of memories, reports of milestones, actions of the heartbeat. You will see them the moment they come.')),
      h('aside', { class: 'needs-side', 'aria-label': 'Queue and decisions' },
        list.length > 1 && section('In the queue', h('span', { class: 'note' }, count(list.length)),
          rows({ name: 'queue', items: list, height: 52, label: 'Pending items', active: at, row: (entry, i) => h('div', { key: entry.artifact_id, role: 'listitem', style: placed(i, 52), class: 'queue-row' + (entry === item ? ' chosen' : '') },
            h('a', { href: '#/pending/' + encodeURIComponent(entry.artifact_id), 'aria-current': entry === item ? 'true' : undefined }, h('span', { class: 'queue-title' }, entry.title || entry.artifact_id), h('span', { class: 'queue-sub' }, sentence(entry.artifact_type) + ' · ' + agentName(entry.produced_by)))) })),
        decidedCard(8))));
}

function itemCard(item) {
  const isDelta = item.artifact_type === 'memory_delta';
  const preview = isDelta ? fetched('preview/' + item.artifact_id, () => call('memory.preview_delta', { project_id: item.project_id, artifact_id: item.artifact_id })) : null;
  const artifact = fetched('artifact/' + item.artifact_id, () => call('artifact.read', { project_id: item.project_id, artifact_id: item.artifact_id }));
  const front = (artifact.value && artifact.value.frontmatter) || {};
  const evidence = [...new Set([].concat(front.evidence || [], front.evidence_artifact_ids || [], front.evidence_ids || []).filter((e) => typeof e === 'string'))];
  const deciding = state.deciding && state.deciding.id === item.artifact_id ? state.deciding : null;
  const shown = preview && preview.value;
  const act = () => decide(item, shown);
  return h('article', { class: 'card item', key: item.artifact_id, 'aria-label': item.title || item.artifact_id },
    h('header', { class: 'item-head' },
      h('p', { class: 'item-who' }, h('strong', {}, agentName(item.produced_by)), ' ' + (proposals[item.artifact_type] || 'asks for a decision'), h('time', { title: moment(item.created_at) }, ago(item.created_at, state.now))),
      h('h2', {}, item.title || item.artifact_id),
      h('p', { class: 'item-ids' }, h('span', { class: 'note' }, sentence(item.artifact_type)), h('span', { class: 'id' }, item.artifact_id), item.run_id && h('a', { class: 'id', href: '#/runs/' + encodeURIComponent(item.run_id) }, 'run ' + brief(item.run_id)), item.parse_error_count > 0 && h('span', { class: 'note bad' }, plural(item.parse_error_count, 'parse error') + ' in its run'))),
    preview && shownOr(preview, 'preview/' + item.artifact_id, (p) => [
      h('p', { class: 'target' }, 'Into ', h('code', {}, p.target_file), p.state === 'reanchored' && h('span', { class: 'note warn' }, 'moved: the file changed since'), p.state === 'conflict' && h('span', { class: 'note bad' }, 'does not fit any more')),
      p.state === 'conflict' && h('p', { class: 'fault' }, 'Approving cannot work: ' + (p.reason || 'the memory changed') + ' Deny it, or ask for a new proposal.'),
      p.diff ? diff(p.diff) : null,
    ]),
    h('details', { class: 'source', open: !isDelta }, h('summary', {}, isDelta ? 'Reason and whole proposal' : 'What it says'), shownOr(artifact, 'artifact/' + item.artifact_id, (a) => prose(a.markdown))),
    evidence.length > 0 && h('div', { class: 'evidence' }, h('h3', {}, 'Evidence'), evidence.map((id) => evidenceView(item, id))),
    h('footer', { class: 'decide' }, deciding
      ? h('div', { class: 'deciding', key: 'note' },
        field('notes', deciding.decision === 'approved' ? 'A note with your approval (optional)' : 'Why not? (optional)', { rows: 2, onkeydown: (e) => {
          if (e.key === 'Escape') { e.stopPropagation(); state.deciding = null; changed(); focusTitle(); }
          sends(act)(e);
        } }, 'textarea'),
        h('div', { class: 'actions' }, h('span', { class: 'hint' }, 'Ctrl+Enter decides, Esc goes back'), button('Cancel', () => { state.deciding = null; changed(); }, { key: 'cancel' }), button(deciding.busy ? 'Deciding…' : deciding.decision === 'approved' ? 'Approve' : 'Deny', act, { kind: deciding.decision === 'approved' ? 'primary' : 'danger', key: 'do', disabled: deciding.busy })))
      : h('div', { class: 'actions', key: 'choose' }, h('span', { class: 'hint shortcuts' }, h('kbd', {}, 'a'), ' approve ', h('kbd', {}, 'd'), ' deny ', h('kbd', {}, 'j'), h('kbd', {}, 'k'), ' next, previous'),
        button('Deny', () => beginDecision('denied'), { key: 'deny' }), button('Approve', () => beginDecision('approved'), { kind: 'primary', key: 'approve', disabled: Boolean(shown && shown.state === 'conflict') }))));
}

function evidenceView(item, id) {
  const name = 'artifact/' + id;
  const opened = state.fields['evidence/' + id];
  return h('div', { key: id, class: 'evidence-item' },
    h('button', { type: 'button', class: 'link', 'aria-expanded': String(Boolean(opened)), onclick: () => { state.fields['evidence/' + id] = !opened; changed(); } }, id),
    opened && shownOr(fetched(name, () => call('artifact.read', { project_id: item.project_id, artifact_id: id })), name, (a) => prose(a.markdown)));
}

// reviews are the whole documents of what was decided: they have the rule.
function reviews() {
  const entry = fetched('reviews', () => call('inbox.list_reviews', { limit: 300 }), 30000);
  return new Map((entry.value || []).map((r) => [r.id, r]));
}

function decisionView(d, rules) {
  const review = rules.get(d.review_id);
  return h('li', { key: d.review_id, class: 'decision' },
    h('div', { class: 'decision-head' }, pill(d.decision), h('span', { class: 'decision-what' }, words(d.subject_kind)), h('time', { title: moment(d.created_at) }, ago(d.created_at, state.now))),
    h('p', { class: 'id' }, d.subject_artifact_id),
    h('p', { class: 'decision-by' }, 'by ' + agentName(d.actor_id) + ' (' + d.actor_role + ')', review && review.policy && h('span', { class: 'rule' }, ', rule ' + review.policy.rule_id + ': ' + words(review.policy.reason)), d.parse_error_count > 0 && h('span', { class: 'note bad' }, plural(d.parse_error_count, 'parse error'))),
    d.notes && h('p', { class: 'decision-notes' }, '“' + d.notes + '”'));
}

function decidedCard(most) {
  const list = inboxPart().recent_decisions;
  const rules = list.length ? reviews() : new Map();
  return section('Recent Decisions', list.length > most && h('a', { href: '#/decisions' }, 'All ' + count(list.length)),
    list.length ? h('ol', { class: 'decisions' }, list.slice(0, most).map((d) => decisionView(d, rules))) : h('p', { class: 'quiet' }, 'What you decide stays here, with the rule that allowed it.'));
}

const decisionHeight = 118;

function decisionsView() {
  const list = inboxPart().recent_decisions;
  const rules = list.length ? reviews() : new Map();
  return h('div', { class: 'page', key: 'decisions' },
    h('header', { class: 'pane-head' }, h('div', {}, h('h1', { tabindex: '-1', id: 'title' }, 'Recent Decisions'), h('p', { class: 'sub' }, plural(list.length, 'decision') + ' in this project'))),
    list.length ? rows({ name: 'decisions', items: list, height: decisionHeight, label: 'Decisions, the newest first', row: (d, i) => h('div', { key: d.review_id, role: 'listitem', style: placed(i, decisionHeight), class: 'decision-row' }, decisionView(d, rules)) })
      : empty('Nothing was decided yet', 'Every approval and denial stays here, with who decided, when, and by which rule.', h('a', { class: 'button', href: '#/pending' }, 'See what waits')));
}
