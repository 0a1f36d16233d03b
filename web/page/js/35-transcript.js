// The transcript of a run: the items that the server's fold makes, updated by the operations of its
// stream. The page decodes agent output nowhere else.

const cut = (text, most) => (text.length > most ? text.slice(0, most) + '…' : text);

// The server's bound for the output of an item.
const outputTail = 16384;

// newestItems is the number of items read when a run is opened, mostItems the number kept.
const newestItems = 200;
const mostItems = 20000;

class Transcript {
  constructor() {
    this.clear();
  }

  clear() {
    this.items = new Map(); // by id
    this.state = null;
    this.seq = 0;
    this.older = false; // the log has items before these
    this.sorted = null;
  }

  // apply applies one operation. The transcript is cleared if the first operation of a stream has
  // an earlier seq than the transcript, or a state has seq 0: the log is then another one.
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
    const old = this.items.get(item.item_id);
    this.items.set(item.item_id, item);
    const at = this.sorted && old && placeOfItem(old) === placeOfItem(item) ? this.sorted.at.get(item.item_id) : undefined;
    if (at === undefined) this.sorted = null;
    else this.sorted.list[at] = item;
    if (this.items.size > mostItems) this.forget();
  }

  // page merges items read from the server, in their order. A newer version of an item stays. Items
  // that were not read began later and go last.
  page(items) {
    const read = new Map();
    for (const item of items) {
      const old = this.items.get(item.item_id);
      read.set(item.item_id, old && old.seq_last >= item.seq_last ? old : item);
      this.items.delete(item.item_id);
    }
    for (const [id, item] of this.items) read.set(id, item);
    this.items = read;
    this.sorted = null;
  }

  forget() {
    for (const [id, old] of this.items) {
      if (old.state !== 'closed') continue;
      this.items.delete(id);
      if (this.items.size <= mostItems * 0.75) break;
    }
    this.older = true;
    this.sorted = null;
  }

  // list returns the items to show, in order. A person's message stands where the agent received
  // it; a waiting one stands at the end.
  list() {
    if (this.sorted) return this.sorted.list;
    const list = [...this.items.values()].filter((i) => i.kind !== 'usage' || i.usage);
    list.sort((a, b) => placeOfItem(a) - placeOfItem(b) || 0);
    this.sorted = { list, at: new Map(list.map((item, i) => [item.item_id, i])) };
    return list;
  }
}

const placeOfItem = (i) => (i.kind !== 'message' || i.role !== 'user' ? i.seq_first : i.state === 'open' ? Number.MAX_SAFE_INTEGER : i.seq_last);

// failedItem reports whether an item shows a failure.
const failedItem = (item) =>
  (item.tool && (item.tool.status === 'failed' || (known(item.tool.exit_code) && item.tool.exit_code !== 0))) || (item.kind === 'notice' && /\b(failed|failure|denied|exceeded|error)\b/i.test(item.text || ''));

const stateOfItem = (item) => (failedItem(item) ? 'error' : item.state);

// holding returns the item that contains an event of the log: the innermost one that spans it, else
// the last one that began before it.
function holding(list, seq) {
  let found = null;
  for (const item of list) {
    if (item.seq_first > seq) continue;
    const spans = item.seq_last >= seq;
    const before = found && found.seq_last >= seq;
    if (!found || (spans && !before) || (spans === before && item.seq_first >= found.seq_first)) found = item;
  }
  return found;
}

// wordsOf returns all text of an item in lower case, for searching.
const wordsOfItems = new WeakMap();

function wordsOf(item) {
  let words = wordsOfItems.get(item);
  if (words === undefined) {
    const { tool, interaction, plan } = item;
    words = [item.text, item.note, tool && [tool.name, tool.title, tool.output_tail, tool.diff, ...(tool.locations || []).map((l) => l.path)].join('\n'),
      interaction && [interaction.title, interaction.prompt, interaction.resource].join('\n'), plan && plan.map((s) => s.text).join('\n')].filter(Boolean).join('\n').toLowerCase();
    wordsOfItems.set(item, words);
  }
  return words;
}

const itemsWith = (list, text) => {
  const wanted = text.trim().toLowerCase();
  return wanted ? list.filter((item) => wordsOf(item).includes(wanted)) : [];
};

// usageWords describes the usage of a turn.
const usageWords = (usage) => [compact(usage.total_tokens) + ' tokens', known(usage.cost_usd) && money(usage.cost_usd)].filter(Boolean).join(' · ');
