// Provider output as something to read: the JSON lines of codex, claude, gemini and
// opencode become what was said, thought, run and changed; anything else stays text.

const cut = (text, most) => (text.length > most ? text.slice(0, most) + '…' : text);

function plain(value) {
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return value.map(plain).filter(Boolean).join('\n');
  if (value && typeof value === 'object') {
    if (typeof value.text === 'string') return value.text;
    if (value.content !== undefined) return plain(value.content);
    return JSON.stringify(value, null, 2);
  }
  return value === undefined || value === null ? '' : String(value);
}

// Blocks counts the blocks of a message that have come as a whole, and knows what was
// said last, so that nothing is shown twice that is told in pieces and then whole.
class Blocks {
  constructor() {
    this.counts = new Map();
    this.turns = 0;
    this.said = '';
  }

  next(message) {
    const n = this.counts.get(message) || 0;
    this.counts.set(message, n + 1);
    if (this.counts.size > 100) this.counts.delete(this.counts.keys().next().value);
    return message + '#' + n;
  }
}

// entriesOf gives what one line of output says: {kind, title?, body?, id?}.
// An id stands for a thing that grows: a later entry of the same id replaces it.
function entriesOf(line, blocks = new Blocks()) {
  const first = line.trimStart();
  if (first[0] !== '{') return [{ kind: 'text', body: line }];
  const value = parse(first);
  if (!value) return [{ kind: 'text', body: line }];
  const found = ofCodex(value) || ofServer(value) || ofOpenCode(value) || ofGemini(value, blocks) || ofClaude(value, blocks) || ofOther(value);
  return found || [{ kind: 'meta', title: value.type || value.method || 'JSON', body: cut(JSON.stringify(value, null, 2), 20000) }];
}

const snake = (name) => String(name || '').replace(/[A-Z]/g, (c) => '_' + c.toLowerCase());

function ofCodex(value) {
  const type = value.type || '';
  if (value.item && /^item\./.test(type)) return ofItem(value.item);
  if (type === 'thread.started' || type === 'turn.started') return [];
  if (type === 'turn.completed') return value.usage ? [{ kind: 'meta', title: 'Turn over', note: usageWords(value.usage) }] : [];
  if (type === 'turn.failed') return [{ kind: 'error', title: 'Turn failed', body: plain(value.error && (value.error.message || value.error)) }];
  if (type === 'error' && typeof value.message === 'string') return [{ kind: 'error', title: 'Error', body: value.message }];
  return null;
}

// The app server speaks in notifications: item/started, item/completed, deltas.
function ofServer(value) {
  if (typeof value.method !== 'string') return value.id !== undefined && value.result !== undefined ? [] : null;
  const params = value.params || {};
  if (params.item && /^item\//.test(value.method)) return ofItem(params.item);
  if (/delta$/i.test(value.method) && typeof params.delta === 'string') {
    return [{ kind: /reason/i.test(value.method) ? 'think' : 'say', body: params.delta, id: params.itemId, grows: true }];
  }
  if (value.method === 'error') return [{ kind: 'error', title: 'Error', body: plain(params.error || params.message) }];
  if (/turn\/|thread\/|tokenUsage/.test(value.method)) return [];
  return null;
}

function ofItem(item) {
  const id = item.id;
  switch (snake(item.type || item.item_type)) {
    case 'agent_message':
    case 'assistant_message':
      return [{ kind: 'say', body: plain(item.text), id }];
    case 'reasoning':
      return [{ kind: 'think', body: plain(item.text || item.summary), id }];
    case 'command_execution': {
      const code = item.exit_code ?? item.exitCode;
      const ended = code !== undefined && code !== null;
      return [{ kind: ended && code !== 0 ? 'error' : 'tool', title: plain(item.command), note: ended ? 'exit ' + code : 'runs', body: plain(item.aggregated_output ?? item.aggregatedOutput), id, code: true }];
    }
    case 'file_change':
      return [{ kind: 'tool', title: 'Files changed', body: (item.changes || []).map((c) => plain(c.kind && (c.kind.type || c.kind)) + '  ' + c.path).join('\n'), id }];
    case 'mcp_tool_call':
      return [{ kind: 'tool', title: [item.server, item.tool].filter(Boolean).join(' · '), note: item.status, body: plain(item.result || item.arguments), id }];
    case 'web_search':
      return [{ kind: 'tool', title: 'Searched: ' + plain(item.query), id }];
    case 'todo_list':
      return [{ kind: 'tool', title: 'Plan', body: (item.items || []).map((i) => (i.completed ? '✓ ' : '○ ') + i.text).join('\n'), id }];
    case 'error':
      return [{ kind: 'error', title: 'Error', body: plain(item.message), id }];
    case 'user_message':
      return [];
    default:
      return [{ kind: 'meta', title: words(snake(item.type)), body: cut(plain(item), 20000), id }];
  }
}

function ofOpenCode(value) {
  if (typeof value.sessionID !== 'string') return null;
  const part = value.part || {};
  const state = part.state || {};
  switch (value.type) {
    case 'text': return [{ kind: 'say', body: plain(part.text), id: part.id }];
    case 'reasoning': return [{ kind: 'think', body: plain(part.text), id: part.id }];
    case 'tool_use': return [{ kind: state.status === 'error' ? 'error' : 'tool', title: part.tool + (state.title ? ': ' + state.title : ''), body: cut(plain(state.error || state.output), 20000), id: part.callID, code: true }];
    case 'error': return [{ kind: 'error', title: 'Error', body: plain(value.error && (value.error.data && value.error.data.message || value.error.name)) }];
    default: return [];
  }
}

function ofGemini(value, blocks) {
  if (value.type === 'init' && value.session_id) return [{ kind: 'meta', title: 'Session begins', note: value.model }];
  if (value.type === 'message' && value.role === 'user') return [];
  if (value.type === 'message' && value.role === 'assistant') return [{ kind: 'say', body: plain(value.content), id: 'gemini' + blocks.turns, grows: true }];
  if (value.type === 'tool_use' && value.tool_name) {
    blocks.turns++;
    const input = value.parameters || {};
    return [{ kind: 'tool', title: value.tool_name + ': ' + (input.command || input.file_path || input.path || input.pattern || ''), id: value.tool_id, code: true }];
  }
  if (value.type === 'tool_result' && value.tool_id) return [{ kind: value.status === 'success' ? 'tool' : 'error', title: value.status === 'success' ? 'Tool answered' : 'Tool failed', body: cut(plain(value.output), 20000), code: true }];
  if (value.type === 'result' && value.stats) {
    return value.status === 'error' ? [{ kind: 'error', title: 'Ended with an error', body: plain(value.error && value.error.message) }] : [{ kind: 'meta', title: 'Turn over', note: usageWords(value.stats) }];
  }
  return null;
}

function ofClaude(value, blocks) {
  if (value.type === 'system') return value.subtype === 'init' || !value.subtype ? [{ kind: 'meta', title: 'Session begins', note: value.model }] : [];
  if (value.type === 'assistant' || value.type === 'user') {
    const message = value.message || {};
    const parts = Array.isArray(message.content) ? message.content : [{ type: 'text', text: plain(message.content) }];
    return parts.map((part) => {
      const entry = ofPart(part, value.type);
      if (entry && value.type === 'assistant' && message.id) entry.id = part.id || blocks.next(message.id);
      if (entry && entry.kind === 'say') blocks.said = entry.body;
      return entry;
    }).filter(Boolean);
  }
  if (value.type === 'stream_event') {
    const event = value.event || {};
    if (event.type === 'message_start') blocks.message = event.message && event.message.id;
    const said = event.delta && (event.delta.text || event.delta.thinking);
    return typeof said === 'string' ? [{ kind: event.delta.thinking ? 'think' : 'say', body: said, id: blocks.message ? blocks.message + '#' + event.index : 'claude', grows: true }] : [];
  }
  if (value.type === 'result') {
    const note = [known(value.total_cost_usd) && money(value.total_cost_usd), known(value.duration_ms) && duration(value.duration_ms)].filter(Boolean).join(' · ');
    const body = plain(value.result);
    return [{ kind: value.is_error ? 'error' : 'result', title: value.is_error ? 'Ended with an error' : 'Result', note, body: body === blocks.said ? '' : body }];
  }
  return null;
}

function ofPart(part, from) {
  switch (part.type) {
    case 'text':
      return { kind: from === 'user' ? 'meta' : 'say', body: part.text };
    case 'thinking':
      return { kind: 'think', body: part.thinking || part.text };
    case 'tool_use': {
      const input = part.input || {};
      const told = input.command || input.file_path || input.path || input.pattern || input.query || input.url;
      return { kind: 'tool', title: part.name + (told ? ': ' + told : ''), body: told && Object.keys(input).length === 1 ? '' : JSON.stringify(input, null, 2), code: true };
    }
    case 'tool_result':
      return { kind: part.is_error ? 'error' : 'tool', title: part.is_error ? 'Tool failed' : 'Tool answered', body: cut(plain(part.content), 20000), code: true };
    default:
      return null;
  }
}

function ofOther(value) {
  for (const key of ['response', 'output_text', 'completion', 'text', 'message', 'delta']) {
    if (typeof value[key] === 'string') return [{ kind: 'say', body: value[key] }];
  }
  return null;
}

function usageWords(usage) {
  const total = usage.total_tokens ?? usage.totalTokens ?? ['input_tokens', 'cached_input_tokens', 'output_tokens', 'reasoning_output_tokens'].reduce((sum, key) => sum + (usage[key] || 0), 0);
  return compact(total) + ' tokens';
}

// gist is one line of output in at most 200 characters, '' when it says nothing.
// A line that is not complete yet is text only when it is not the start of JSON.
function gist(line, torn) {
  const text = line.trim();
  if (!text) return '';
  if (text[0] === '{' && torn && !parse(text)) return '';
  const entries = entriesOf(text);
  for (let i = entries.length - 1; i >= 0; i--) {
    const { title, body, kind } = entries[i];
    if (kind === 'meta' && !entries[i].note) continue;
    const said = kind === 'tool' || kind === 'error' ? title || body : body || title;
    if (said && said.trim()) return cut(said.trim().split('\n').pop(), 200);
  }
  return '';
}

// A transcript takes the events of a run one by one and keeps the newest
// entries; provider output is put together to lines first, per stream.
class Transcript {
  constructor(most = 3000) {
    this.most = most;
    this.entries = [];
    this.torn = { stdout: '', stderr: '' };
    this.byId = new Map();
    this.blocks = new Blocks();
    this.dropped = 0;
    this.serial = 0;
  }

  take(event) {
    const payload = event.payload || {};
    if (event.type !== 'provider.raw') {
      this.add({ kind: 'event', event });
      return;
    }
    const stream = payload.stream === 'stderr' ? 'stderr' : 'stdout';
    const text = this.torn[stream] + String(payload.chunk || '');
    const lines = text.split('\n');
    this.torn[stream] = cut(lines.pop(), 1 << 20);
    for (const line of lines) this.line(line.replace(/\r$/, ''), stream, event);
  }

  line(line, stream, event) {
    if (!line.trim()) return;
    const clean = line.replace(/\u001b\[[0-9;?]*[A-Za-z]/g, '');
    for (const entry of entriesOf(clean, this.blocks)) {
      if (!entry.body && !entry.title) continue;
      entry.at = event.ts_wallclock;
      if (stream === 'stderr') entry.stderr = true;
      const last = this.entries[this.entries.length - 1];
      if (entry.kind === 'text' && last && last.kind === 'text' && Boolean(last.stderr) === Boolean(entry.stderr) && last.body.length < 4000) {
        this.replace(last, { ...last, body: last.body + '\n' + entry.body });
      } else this.add(entry);
    }
  }

  add(entry) {
    const old = entry.id !== undefined && this.byId.get(entry.id);
    if (old) {
      if (entry.grows) entry = { ...entry, body: old.body + entry.body };
      this.replace(old, { ...entry, key: old.key, at: old.at });
      return;
    }
    entry.key = ++this.serial;
    this.entries.push(entry);
    if (entry.id !== undefined) this.byId.set(entry.id, entry);
    if (this.entries.length > this.most) {
      for (const gone of this.entries.splice(0, this.most / 4)) {
        this.dropped++;
        if (gone.id !== undefined) this.byId.delete(gone.id);
      }
    }
  }

  replace(old, entry) {
    // What grows is near the end.
    const at = this.entries.lastIndexOf(old);
    if (at >= 0) this.entries[at] = entry;
    if (entry.id !== undefined) this.byId.set(entry.id, entry);
  }
}
