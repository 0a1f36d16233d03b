// Diffs: the hunk parser, changed words within pairs of lines, and lines with signs and numbers. A
// sign marks each change, not colour alone.

// readDiff parses a unified diff into lines: {kind, sign, old, now, text}. A line that begins with
// "---" is a removed line while the hunk is incomplete by its header's counts. After that it is the
// header of the next file.
function readDiff(text) {
  const lines = [];
  let old = 0, now = 0, oldEnd = 0, nowEnd = 0, inside = false;
  for (const line of text.replace(/\n$/, '').split('\n')) {
    const hunk = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)/.exec(line);
    const whole = old >= oldEnd && now >= nowEnd;
    if (hunk) {
      old = +hunk[1];
      now = +hunk[3];
      oldEnd = old + +(hunk[2] ?? 1);
      nowEnd = now + +(hunk[4] ?? 1);
      inside = true;
      lines.push({ kind: 'hunk', text: hunk[5] || '', old, now });
    } else if (!inside || /^(diff --git|index [0-9a-f]+\.\.)/.test(line) || (whole && line.startsWith('--- '))) {
      inside = false;
      if (/^(Binary|GIT binary|rename|new file|deleted file|old mode|new mode)/.test(line)) lines.push({ kind: 'head', text: line });
    } else if (line[0] === '+') lines.push({ kind: 'added', sign: '+', now: now++, text: line.slice(1) });
    else if (line[0] === '-') lines.push({ kind: 'removed', sign: '-', old: old++, text: line.slice(1) });
    else if (line[0] === '\\') lines.push({ kind: 'head', text: line.slice(2) });
    else lines.push({ kind: 'same', sign: ' ', old: old++, now: now++, text: line.slice(1) });
  }
  pairWords(lines);
  return lines;
}

// pairWords marks the words that differ between removed lines and the lines that replace them.
function pairWords(lines) {
  for (let i = 0; i < lines.length;) {
    let a = i;
    while (a < lines.length && lines[a].kind === 'removed') a++;
    let b = a;
    while (b < lines.length && lines[b].kind === 'added') b++;
    if (a > i && a - i === b - a) for (let k = 0; k < a - i; k++) markWords(lines[i + k], lines[a + k]);
    i = Math.max(b, i + 1);
  }
}

const wordPattern = /\w+|\s+|[^\w\s]/gu;
const mostWords = 160; // per line, for a comparison by words

function markWords(before, after) {
  const x = before.text.match(wordPattern) || [], y = after.text.match(wordPattern) || [];
  if (!x.length || !y.length || x.length > mostWords || y.length > mostWords) return;
  const wide = y.length + 1;
  const common = new Uint16Array((x.length + 1) * wide);
  for (let i = x.length - 1; i >= 0; i--) {
    for (let j = y.length - 1; j >= 0; j--) {
      common[i * wide + j] = x[i] === y[j] ? common[(i + 1) * wide + j + 1] + 1 : Math.max(common[(i + 1) * wide + j], common[i * wide + j + 1]);
    }
  }
  // Lines with little in common were replaced, not changed.
  if (common[0] * 2 < Math.min(x.length, y.length)) return;
  before.marks = [];
  after.marks = [];
  let atX = 0, atY = 0;
  for (let i = 0, j = 0; i < x.length || j < y.length;) {
    if (i < x.length && j < y.length && x[i] === y[j]) {
      atX += x[i++].length;
      atY += y[j++].length;
    } else if (j >= y.length || (i < x.length && common[(i + 1) * wide + j] >= common[i * wide + j + 1])) atX = addMark(before.marks, atX, x[i++].length);
    else atY = addMark(after.marks, atY, y[j++].length);
  }
}

function addMark(marks, at, length) {
  const last = marks[marks.length - 1];
  if (last && last[1] === at) last[1] += length;
  else marks.push([at, at + length]);
  return at + length;
}

const readDiffs = new Map();

// knownDiff caches the last parsed diffs, because they are drawn often.
function knownDiff(text) {
  let lines = readDiffs.get(text);
  if (!lines) {
    lines = readDiff(text);
    if (readDiffs.size > 200) readDiffs.delete(readDiffs.keys().next().value);
    readDiffs.set(text, lines);
  }
  return lines;
}

// colourLines returns a lookup of the tokens of each line. It highlights each side as a whole, so
// that tokens may span lines. Until the highlighter has loaded, the lookup returns null.
function colourLines(lines, language) {
  const side = (keep) => {
    const mine = lines.filter(keep);
    const tokens = mine.length && highlightLines(mine.map((l) => l.text).join('\n'), language);
    return tokens && new Map(mine.map((line, i) => [line, tokens[i]]));
  };
  const now = side((l) => l.kind === 'added' || l.kind === 'same');
  const old = side((l) => l.kind === 'removed');
  return (line) => (now && now.get(line)) || (old && old.get(line)) || null;
}

// codeOf returns the highlighted text of a line, with its changed words marked.
function codeOf(line, tokens) {
  const out = [];
  let at = 0;
  for (const piece of tokens || [{ text: line.text }]) {
    const end = at + piece.text.length;
    const cuts = [at, ...(line.marks || []).flat().filter((m) => m > at && m < end), end];
    for (let i = 0; i + 1 < cuts.length; i++) {
      const marked = (line.marks || []).some(([from, to]) => cuts[i] >= from && cuts[i + 1] <= to);
      const text = shownText(piece.text.slice(cuts[i] - at, cuts[i + 1] - at));
      out.push(marked ? h('mark', { class: piece.kind || '' }, text) : piece.kind ? h('span', { class: piece.kind }, text) : text);
    }
    at = end;
  }
  return out;
}

const linesShown = 2000;

// patchView shows a diff. extra may add a button to each line, and content below it.
function patchView(text, path, { extra, most = linesShown } = {}) {
  const lines = knownDiff(text);
  const tokens = colourLines(lines.slice(0, most), languageOf(path));
  return h('div', { class: 'diff', role: 'group', 'aria-label': 'Changes' + (path ? ' of ' + path : ''), tabindex: '0' },
    lines.slice(0, most).map((line, i) => [lineView(line, i, tokens(line), extra && extra.on(line)), extra && extra.below(line)]),
    lines.length > most && h('div', { key: 'more', class: 'diff-line hunk' }, h('span', {}), h('span', {}), 'and ' + plural(lines.length - most, 'more line')));
}

function lineView(line, key, tokens, button) {
  const said = { added: 'Added: ', removed: 'Removed: ' }[line.kind];
  return h('div', { key: 'l' + key, class: 'diff-line ' + line.kind, 'data-sign': line.sign },
    h('span', { class: 'diff-number', 'aria-hidden': 'true' }, line.kind === 'hunk' ? '' : line.kind === 'removed' ? line.old : line.now),
    h('span', { class: 'diff-sign', 'aria-hidden': 'true' }, { added: '+', removed: '−' }[line.kind] || ''),
    said && h('span', { class: 'quiet-text' }, said),
    h('span', { class: 'diff-text' }, line.kind === 'hunk' ? 'from line ' + line.now + (line.text ? ': ' + line.text : '') : line.text ? codeOf(line, tokens) : ' '), button);
}
