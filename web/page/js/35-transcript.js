// The transcript of a run: its items, as the operations of the server's stream make
// them. Output of agents is decoded there, and nowhere else.

const cut = (text, most) => (text.length > most ? text.slice(0, most) + '…' : text);

// The bounds of an item's texts are the server's.
const outputTail = 16384;

class Transcript {
  constructor(most = 3000) {
    this.most = most;
    this.clear();
  }

  clear() {
    this.items = new Map(); // by id, in the order of their making
    this.state = null;
    this.seq = 0;
    this.dropped = 0;
    this.shown = null;
  }

  // apply takes one operation. The first one of a stream that begins before what is here
  // begins another log in its place, and so does a state before any event.
  apply(n, first) {
    if (n.seq < this.seq && (first || (n.op === 'state' && n.seq === 0))) this.clear();
    if (n.op === 'state') {
      this.state = n.state;
    } else if (n.op === 'append') this.append(n);
    else this.put(n.item);
    this.seq = Math.max(this.seq, n.seq);
  }

  append({ item_id: id, field, text, seq }) {
    const old = this.items.get(id);
    if (!old) return;
    const item = { ...old, seq_last: seq };
    if (field === 'text') item.text = (old.text || '') + text;
    else if (old.tool) {
      const whole = (old.tool.output_tail || '') + text;
      item.tool = { ...old.tool, output_tail: whole.length > outputTail ? whole.slice(-outputTail) : whole };
    }
    this.put(item);
  }

  put(item) {
    this.items.set(item.item_id, item);
    this.shown = null;
    if (this.items.size <= this.most) return;
    for (const [id, old] of this.items) {
      if (old.state !== 'closed') continue;
      this.items.delete(id);
      this.dropped++;
      if (this.items.size <= this.most * 0.75) break;
    }
  }

  // list is what is shown, in its order: a text of a person stands where the agent got
  // it, one that waits at the end.
  list() {
    if (this.shown) return this.shown;
    const place = (i) => (i.kind !== 'message' || i.role !== 'user' ? i.seq_first : i.state === 'open' ? Infinity : i.seq_last);
    this.shown = [...this.items.values()].filter((i) => i.kind !== 'usage' || i.usage);
    return this.shown.sort((a, b) => { const x = place(a), y = place(b); return x === y ? 0 : x - y; });
  }
}

// lineOf is the last line of what an agent said or did in an item, '' for none.
function lineOf(item) {
  if (item.role === 'user' || item.kind === 'usage') return '';
  const text = item.tool ? item.tool.title || item.tool.name : item.interaction ? item.interaction.title : item.text;
  return cut((text || '').trim().split(/[\r\n]/).pop().trim(), 200);
}

// followTranscript shows the transcript of the open run, and goes on behind what it has.
function followTranscript(open) {
  if (open.stream) open.stream.stop();
  const at = open.transcript.seq;
  let first = true;
  open.stream = follow('/api/stream?view=transcript&project_id=' + encodeURIComponent(open.project) + '&run_id=' + encodeURIComponent(open.id) + (at ? '&since_seq=' + at : '&tail=' + open.transcript.most), {
    onframe(frame) {
      const said = frame.event === 'transcript' && parse(frame.data);
      if (!said) return;
      open.transcript.apply(said, first);
      first = false;
      if (said.op === 'state') stale('continuable/' + open.id);
      open.followed = true;
      changed();
    },
    onstate(link) {
      first = true;
      if (link === 'absent') open.followed = true;
      changed();
    },
  });
}

// usageWords says what a turn used.
const usageWords = (usage) => [compact(usage.total_tokens) + ' tokens', known(usage.cost_usd) && money(usage.cost_usd)].filter(Boolean).join(' · ');
