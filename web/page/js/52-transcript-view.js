// The items of a transcript as they are shown. All of it is text, whatever it says.

// linked shows text with its web addresses as links, which are shown as they are.
function linked(text) {
  return text.split(/(\bhttps?:\/\/[^\s<>"'`)\]]+)/).map((part, i) => (i % 2 ? h('a', { href: part, target: '_blank', rel: 'noopener noreferrer' }, part) : part));
}

const entryNames = { message: 'Agent', reasoning: 'Thinking', tool: 'Tool', file_change: 'Files changed', plan: 'Plan', notice: 'Notice' };

function itemView(item) {
  switch (item.kind) {
    case 'message':
      return item.role === 'user' ? saidView(item) : entry(item, 'say', null, h('div', { class: 'entry-body' }, linked(cut(item.text || '', 60000))));
    case 'reasoning':
      return entry(item, 'think', null, h('div', { class: 'entry-body' }, cut(item.text || '', 60000)));
    case 'tool':
    case 'file_change':
      return toolView(item);
    case 'plan':
      return entry(item, 'plan', head('Plan'), planBody(item));
    case 'question':
    case 'permission':
      return item.interaction ? askedView(item) : null;
    case 'usage':
      return line(item, '', 'Turn ' + item.turn + ': ' + usageWords(item.usage));
    default:
      return line(item, noticeTone(item), item.text || '');
  }
}

const entry = (item, kind, ...children) => h('div', { key: item.item_id, class: 'entry ' + kind, 'data-item': item.kind }, children);

const head = (kind, title, note, mono) =>
  h('div', { class: 'entry-head' }, h('span', { class: 'entry-kind' }, kind), title && h('span', { class: 'entry-title' + (mono ? ' mono' : '') }, cut(title, 400)), note && h('span', { class: 'entry-note' }, note));

const line = (item, tone, text) =>
  h('div', { key: item.item_id, class: 'entry event ' + tone, 'data-item': item.kind }, dot(tone), h('span', { class: 'entry-said' }, linked(cut(text, 4000))), h('time', { title: moment(item.started_at) }, clock(item.started_at)));

const noticeTone = (item) => (/failed|denied|exceeded|error/i.test(item.text || '') ? 'bad' : '');

function saidView(item) {
  const who = !item.actor || item.actor === state.actor ? 'You' : agentName(item.actor);
  const note = item.note || (item.state === 'open' ? 'waits for the agent' : '');
  return entry(item, 'user' + (note ? ' waits' : ''), head(who, '', note), h('div', { class: 'entry-body' }, linked(cut(item.text || '', 60000))));
}

function toolView(item) {
  const tool = item.tool || { title: '', status: '' };
  const failed = tool.status === 'failed' || (known(tool.exit_code) && tool.exit_code !== 0);
  const note = known(tool.exit_code) ? 'exit ' + tool.exit_code : tool.status === 'in_progress' ? 'runs' : tool.status === 'completed' ? '' : words(tool.status);
  const paths = (tool.locations || []).map((l) => l.path);
  const title = item.kind === 'file_change' ? paths.join(', ') || tool.title : tool.title || tool.name;
  const body = [
    tool.output_tail && h('div', { class: 'entry-body mono', key: 'output' }, cut(tool.output_tail, 60000)),
    tool.diff && diff(tool.diff),
    !tool.output_tail && !tool.diff && tool.input && h('div', { class: 'entry-body mono', key: 'input' }, cut(typeof tool.input === 'string' ? tool.input : JSON.stringify(tool.input, null, 2), 20000)),
  ].filter(Boolean);
  const top = head(entryNames[item.kind], title, [tool.server, note].filter(Boolean).join(' · '), item.kind === 'tool');
  return entry(item, failed ? 'error' : 'tool', body.length ? h('details', { key: 'body' }, h('summary', {}, top), body) : top);
}

function planBody(item) {
  if (!item.plan || !item.plan.length) return h('div', { class: 'entry-body' }, item.text || 'No step.');
  const signs = { completed: '✓', in_progress: '▸' };
  return h('ol', { class: 'steps' }, item.plan.map((s, i) => h('li', { key: i, class: s.status }, h('span', { 'aria-hidden': 'true' }, signs[s.status] || '○'), h('span', { class: 'quiet-text' }, words(s.status) + ': '), s.text)));
}

// askedView is what the agent asked: to be answered, or with the answer.
function askedView(item) {
  const record = item.interaction;
  if (item.state === 'open') return h('div', { key: item.item_id, class: 'entry asks', 'data-item': item.kind }, askCard(record, false));
  return line(item, record.state === 'allowed' || record.state === 'answered' ? 'good' : 'bad', record.title + ': ' + outcomeOf(record));
}
