// Talk: the conversations of the company and its projects, and their messages. The list comes from
// the rows of the room, so looking at it creates nothing.

const talkKey = (id) => 'messages/' + id;
const placeOf = (row) => (row.p ? { scope: 'project', project_id: row.p } : { scope: 'workspace' });

// conversationName returns the name of a conversation. A direct one has the name of the other
// person.
function conversationName(row) {
  const direct = /^DM:?\s+(\S+)/.exec(row.name || '');
  return oneLine(direct ? personName(direct[1]) : row.name || 'Conversation', 80);
}

const isDirect = (row) => /^DM:?\s/.test(row.name || '');

// This browser keeps the unread marks: up to which time each conversation was read.
const readUpTo = (id) => memory.get('read/' + id) || '';
const isUnread = (id, row) => Boolean(row.last_at) && row.last_by !== state.actor && instant(row.last_at) > (instant(readUpTo(id)) || 0);

function talkView() {
  const all = [...rowsOf('talk')].filter(([, row]) => inProject(row)).sort((a, b) => conversationName(a[1]).localeCompare(conversationName(b[1])));
  const wide = matchMedia('(min-width: 900px)').matches;
  const chosen = all.find(([id]) => id === state.route.id) || (wide && !state.route.id ? all[0] : null);
  return h('div', { class: 'split talk' + (state.route.id ? ' opened' : ''), key: 'talk' },
    h('div', { class: 'pane list-pane' },
      h('header', { class: 'pane-head' }, h('div', {}, h('h1', { tabindex: '-1', id: 'title' }, 'Talk'), h('p', { class: 'sub' }, plural(all.length, 'conversation')))),
      h('div', { class: 'scroller', tabindex: '-1' },
        !all.length && h('p', { class: 'quiet' }, 'No conversation yet: begin one below.'),
        talkPart('Channels', all.filter(([, row]) => row.p && !isDirect(row)), chosen), talkPart('Company', all.filter(([, row]) => !row.p && !isDirect(row)), chosen), talkPart('Direct', all.filter(([, row]) => isDirect(row)), chosen),
        newTalk())),
    chosen ? conversationPane(...chosen) : state.route.id ? h('div', { class: 'pane detail' }, empty('There is no such conversation', 'It may be of another project.', h('a', { class: 'button', href: hrefOf('talk') }, 'Back to Talk'))) : null);
}

const talkPart = (title, list, chosen) => list.length > 0 && h('section', { key: title, class: 'channels', 'aria-label': title }, h('h2', {}, title), h('ul', {}, list.map(([id, row]) => {
  const unread = isUnread(id, row) && !(chosen && chosen[0] === id);
  return h('li', { key: id }, h('a', { class: 'channel' + (chosen && chosen[0] === id ? ' chosen' : ''), href: hrefOf('talk', id), 'aria-current': chosen && chosen[0] === id ? 'true' : undefined },
    h('span', { class: 'channel-sign', 'aria-hidden': 'true' }, isDirect(row) ? '@' : '#'), h('span', { class: 'channel-name' }, conversationName(row)), !state.project && row.p && h('span', { class: 'channel-who' }, oneLine(projectName(row.p), 30)),
    unread && h('span', { class: 'talk-unread' }, h('span', { 'aria-hidden': 'true' }, '•'), h('span', { class: 'quiet-text' }, 'unread'))));
})));

function newTalk() {
  const project = state.project || [...rowsOf('projects').keys()][0];
  if (!project) return null;
  return h('div', { class: 'new-talk' },
    h('form', { class: 'inline', onsubmit: (e) => { e.preventDefault(); newChannel(project); } }, field('channel', 'New channel', { maxlength: 80 }), h('button', { type: 'submit', class: 'button', disabled: !(state.fields.channel || '').trim() }, 'Create')),
    h('label', { class: 'dm' }, h('span', {}, 'Write to'), h('select', { class: 'field', value: '', onchange: (e) => { const id = e.target.value; e.target.value = ''; if (id) newDirect(project, id); } }, h('option', { value: '', key: '' }, 'somebody…'), [...rowsOf('people')].map(([id, row]) => h('option', { key: id, value: id }, oneLine(row.name))))));
}

async function newChannel(project) {
  const name = state.fields.channel.trim();
  const slug = name.toLowerCase().replace(/[^a-z0-9]+/g, '-').replace(/^-|-$/g, '').slice(0, 64) || 'channel';
  try {
    const made = await call('conversation.create_channel', { scope: 'project', project_id: project, name, slug, visibility: 'team' });
    state.fields.channel = '';
    go('talk', made.id);
  } catch (error) {
    say('No channel was made: ' + error.message, true);
  }
  changed();
}

async function newDirect(project, peer) {
  try {
    go('talk', (await call('conversation.create_dm', { scope: 'project', project_id: project, peer_agent_id: peer })).id);
  } catch (error) {
    say('No conversation was made: ' + error.message, true);
  }
}

// openToWrite makes sure that the default conversations exist before somebody writes.
const openToWrite = (row) => fetched('talk/open/' + (row.p || ''), () => call('conversation.list', placeOf(row)));

async function post(id, row) {
  const name = 'message/' + id;
  const body = (state.fields[name] || '').trim();
  if (!body || state.posting) return;
  state.posting = true;
  changed();
  try {
    await call('conversation.message.send', { ...placeOf(row), conversation_id: id, body });
    state.fields[name] = '';
    stale(talkKey(id));
  } catch (error) {
    say('Nothing was sent: ' + error.message, true);
  }
  state.posting = false;
  changed();
}

function conversationPane(id, row) {
  const entry = fetched(talkKey(id) + '/' + (row.last_at || ''), () => call('conversation.messages.list', { ...placeOf(row), conversation_id: id, limit: 500 }));
  const list = entry.value || (state.talked && state.talked.id === id ? state.talked.list : null);
  if (entry.value) state.talked = { id, list: entry.value };
  if (row.last_at && readUpTo(id) !== row.last_at) memory.set('read/' + id, row.last_at);
  const name = 'message/' + id;
  const text = state.fields[name] || '';
  return h('article', { class: 'pane detail conversation', key: id, 'aria-label': conversationName(row) },
    h('header', { class: 'detail-head' }, h('a', { class: 'icon-button back', href: hrefOf('talk'), 'aria-label': 'Back to all conversations' }, icon('back')), h('div', { class: 'detail-title' }, h('h2', { tabindex: '-1', id: 'detail-title' }, conversationName(row)), h('p', { class: 'sub' }, row.p ? oneLine(projectName(row.p), 60) : 'the whole company'))),
    h('div', { class: 'scroller messages', role: 'log', 'aria-label': 'Messages', tabindex: '0', mounted: stickToEnd, unmounted: (el) => el.acGrown.disconnect(), onscroll: (e) => { e.target.acEnd = e.target.scrollHeight - e.target.scrollTop - e.target.clientHeight < 60; } },
      list ? (list.length ? messagesOf(list) : empty('Nothing was said yet', 'Write the first message below. Agents read it with their next context.')) : entry.error ? fault(entry.error, () => stale(talkKey(id) + '*')) : loading('Reading what was said…')),
    h('div', { class: 'compose' }, state.previewing && text.trim() && h('div', { class: 'preview' }, markdown(text, { key: 'preview', label: 'Preview' })),
      field(name, 'Message to ' + conversationName(row), { rows: 2, onkeydown: sends(() => post(id, row)), onfocus: () => openToWrite(row), 'data-compose': true }, 'textarea'),
      h('div', { class: 'compose-foot' }, h('span', { class: 'hint' }, 'Markdown. Ctrl+Enter sends'), h('div', { class: 'actions' }, button('Preview', () => { state.previewing = !state.previewing; changed(); }, { key: 'preview', pressed: Boolean(state.previewing) }), button('Send', () => post(id, row), { kind: 'primary', disabled: state.posting || !text.trim(), key: 'send' })))));
}

// stickToEnd keeps the newest message in view while the list is at its end.
function stickToEnd(el) {
  const stick = () => { if (el.acEnd !== false) el.scrollTop = el.scrollHeight; };
  el.acGrown = new MutationObserver(stick);
  el.acGrown.observe(el, { childList: true, subtree: true });
  stick();
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
      first || line ? face(personName(m.author_id)) : h('span', { class: 'face-space' }),
      h('div', { class: 'message-said' }, (first || line) && h('div', { class: 'note-head' }, h('strong', {}, oneLine(personName(m.author_id))), h('span', { class: 'note' }, m.kind && m.kind !== 'text' ? words(m.kind) : m.author_role), h('time', { title: moment(m.created_at) }, clock(m.created_at))), markdown(m.body, { key: 'body' })))];
  });
}
