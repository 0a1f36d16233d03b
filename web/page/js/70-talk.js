// Talk: the channels of the company and of the project, and what is said there.

let talkTimer = 0;

const talkLists = () => [
  fetched('talk/project', () => call('conversation.list', { scope: 'project', project_id: state.project }), 30000),
  fetched('talk/workspace', () => call('conversation.list', { scope: 'workspace' }), 30000),
];

const placeOf = (c) => (c.scope === 'project' ? { scope: 'project', project_id: c.project_id } : { scope: 'workspace' });

// While somebody looks at a conversation and there is no stream that tells when
// something is said, it is read again every 3 s.
function keepTalking() {
  if (talkTimer) return;
  talkTimer = setInterval(() => {
    if (state.route.view !== 'talk') {
      clearInterval(talkTimer);
      talkTimer = 0;
    } else if (!document.hidden && !state.hears) stale('messages/*');
  }, 3000);
}

function conversationName(c) {
  return c.kind === 'dm' ? agentName(c.dm_peer_agent_id || c.name.replace(/^DM: /, '')) : c.name;
}

function talkView() {
  keepTalking();
  const [project, workspace] = talkLists();
  const all = [...(project.value || []), ...(workspace.value || [])];
  const wide = matchMedia('(min-width: 900px)').matches;
  const chosen = all.find((c) => c.id === state.route.id) || (wide ? all[0] : null);
  const part = (title, list) => list.length > 0 && h('section', { key: title, class: 'channels' }, h('h2', {}, title), h('ul', {}, list.slice(0, 400).map((c) =>
    h('li', { key: c.id }, h('a', { class: 'channel' + (c === chosen ? ' chosen' : ''), href: '#/talk/' + encodeURIComponent(c.id), 'aria-current': c === chosen ? 'true' : undefined }, h('span', { class: 'channel-sign', 'aria-hidden': 'true' }, c.kind === 'dm' ? '@' : '#'), h('span', { class: 'channel-name' }, conversationName(c)), c.visibility !== 'org' && h('span', { class: 'channel-who' }, words(c.visibility)))))));
  return h('div', { class: 'split talk' + (state.route.id ? ' opened' : ''), key: 'talk' },
    h('div', { class: 'pane list-pane' },
      h('header', { class: 'pane-head' }, h('div', {}, h('h1', { tabindex: '-1', id: 'title' }, 'Talk'), h('p', { class: 'sub' }, plural(all.length, 'conversation')))),
      h('div', { class: 'scroller', tabindex: '-1' },
        !all.length && (project.error || workspace.error) ? fault(project.error || workspace.error, () => stale('talk/*')) : !all.length ? loading('Reading conversations…') : null,
        part('Project', all.filter((c) => c.scope === 'project' && c.kind !== 'dm')), part('Company', all.filter((c) => c.scope === 'workspace' && c.kind !== 'dm')), part('Direct', all.filter((c) => c.kind === 'dm')),
        h('div', { class: 'new-talk' },
          h('form', { class: 'inline', onsubmit: (e) => { e.preventDefault(); newChannel(); } }, field('channel', 'New channel', { maxlength: 80 }), h('button', { type: 'submit', class: 'button', disabled: !(state.fields.channel || '').trim() }, 'Create')),
          h('label', { class: 'dm' }, h('span', {}, 'Write to'), h('select', { class: 'field', value: '', onchange: (e) => { const id = e.target.value; e.target.value = ''; if (id) newDirect(id); } }, h('option', { value: '', key: '' }, 'somebody…'), state.agents.map((a) => h('option', { key: a.agent_id, value: a.agent_id }, a.name))))))),
    chosen ? conversationPane(chosen) : null);
}

async function newChannel() {
  const name = state.fields.channel.trim();
  const slug = name.toLowerCase().replace(/[^a-z0-9]+/g, '-').replace(/^-|-$/g, '').slice(0, 64) || 'channel';
  try {
    const made = await call('conversation.create_channel', { scope: 'project', project_id: state.project, name, slug, visibility: 'team' });
    state.fields.channel = '';
    stale('talk/project');
    location.hash = '#/talk/' + encodeURIComponent(made.id);
  } catch (error) {
    say('No channel was made: ' + error.message, true);
  }
  changed();
}

async function newDirect(peer) {
  try {
    const made = await call('conversation.create_dm', { scope: 'project', project_id: state.project, peer_agent_id: peer });
    stale('talk/project');
    location.hash = '#/talk/' + encodeURIComponent(made.id);
  } catch (error) {
    say('No conversation was made: ' + error.message, true);
  }
}

function conversationPane(c) {
  const name = 'messages/' + c.id;
  const entry = fetched(name, () => call('conversation.messages.list', { ...placeOf(c), conversation_id: c.id, limit: 500 }));
  const post = async () => {
    const body = (state.fields['message/' + c.id] || '').trim();
    if (!body || state.posting) return;
    state.posting = true;
    changed();
    try {
      const sent = await call('conversation.message.send', { ...placeOf(c), conversation_id: c.id, body });
      state.fields['message/' + c.id] = '';
      if (entry.value && sent.message) entry.value = [...entry.value.filter((m) => m.id !== sent.message.id), sent.message];
    } catch (error) {
      say('Not sent: ' + error.message, true);
    }
    state.posting = false;
    changed();
  };
  const members = [...(c.participants.agent_ids || []).map(agentName), ...(c.participants.team_ids || []).map((t) => teamName(t) + ' team')];
  return h('article', { class: 'pane detail conversation', key: c.id, 'aria-label': conversationName(c) },
    h('header', { class: 'detail-head' }, h('a', { class: 'icon-button back', href: '#/talk', 'aria-label': 'Back to all conversations' }, icon('back')), h('div', { class: 'detail-title' }, h('h2', { tabindex: '-1', id: 'detail-title' }, conversationName(c)), h('p', { class: 'sub', title: members.join(', ') }, cut(members.slice(0, 6).join(', '), 120) + (members.length > 6 ? ' and ' + (members.length - 6) + ' more' : '')))),
    h('div', { class: 'scroller messages', role: 'log', 'aria-label': 'Messages', tabindex: '0', mounted: (el) => {
      el.acGrown = new MutationObserver((changes) => { if (changes.some((m) => m.addedNodes.length) && el.acEnd !== false) el.scrollTop = el.scrollHeight; });
      el.acGrown.observe(el, { childList: true, subtree: true });
      el.scrollTop = el.scrollHeight;
    }, unmounted: (el) => el.acGrown.disconnect(), onscroll: (e) => { e.target.acEnd = e.target.scrollHeight - e.target.scrollTop - e.target.clientHeight < 60; } },
      shownOr(entry, name, (list) => (list.length ? messagesOf(list) : empty('Nothing was said yet', 'Write the first message below. Agents read it with their next context.')))),
    h('div', { class: 'compose' }, field('message/' + c.id, 'Message to ' + conversationName(c), { rows: 2, onkeydown: sends(post), 'data-compose': true }, 'textarea'), h('div', { class: 'compose-foot' }, h('span', { class: 'hint' }, 'Ctrl+Enter sends'), button('Send', post, { kind: 'primary', disabled: state.posting || !(state.fields['message/' + c.id] || '').trim() }))));
}

function messagesOf(list) {
  let author = '', last = 0, shownDay = '';
  return list.map((m) => {
    const when = instant(m.created_at);
    const today = day(when);
    const first = m.author_id !== author || when - last > 300000;
    const line = today !== shownDay && h('div', { key: 'day' + m.id, class: 'day' }, today);
    [author, last, shownDay] = [m.author_id, when, today];
    return [line, h('div', { key: m.id, class: 'message' + (first || line ? ' first' : '') + (m.author_id === state.actor ? ' own' : '') },
      first || line ? face(agentName(m.author_id)) : h('span', { class: 'face-space' }),
      h('div', { class: 'message-said' }, (first || line) && h('div', { class: 'note-head' }, h('strong', {}, agentName(m.author_id)), h('span', { class: 'note' }, m.kind && m.kind !== 'text' ? words(m.kind) : m.author_role), h('time', { title: moment(m.created_at) }, clock(m.created_at))), h('p', {}, m.body)))];
  });
}
