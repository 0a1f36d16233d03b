// Highlighted code as tokens for the differ. The highlighter's output is sanitized into a fragment
// and read, and never put into the document.

// languageOf returns the language of a file by its name, or ''.
function languageOf(path) {
  const end = ((path || '').split('/').pop().split('.').pop() || '').toLowerCase();
  const name = languageNames[end] || end;
  return languages.includes(name) ? name : '';
}

const mostCode = 64 << 10;
const tokenLines = new Map();
const readers = new Map(); // language: the highlighter, null while it loads

// highlightLines returns the lines of a text as tokens {text, kind}. It returns null if the
// highlighter has not loaded or does not apply.
function highlightLines(text, language) {
  if (!language || text.length > mostCode) return null;
  const reader = readers.get(language);
  if (!reader) {
    if (reader === undefined) loadReader(language);
    return null;
  }
  const name = language + '\n' + text;
  let lines = tokenLines.get(name);
  if (!lines) {
    lines = readTokens(reader, text, language);
    if (tokenLines.size > 100) tokenLines.clear();
    tokenLines.set(name, lines);
  }
  return lines;
}

async function loadReader(language) {
  readers.set(language, null);
  const reader = await highlighter(language);
  if (!reader) return;
  readers.set(language, reader);
  changed();
}

function readTokens(reader, text, language) {
  const lines = [[]];
  const walk = (node, kind) => {
    if (node.nodeType === Node.TEXT_NODE) {
      node.data.split('\n').forEach((piece, i) => {
        if (i) lines.push([]);
        if (piece) lines[lines.length - 1].push({ text: piece, kind });
      });
      return;
    }
    for (const child of node.childNodes) walk(child, node.className || kind);
  };
  walk(DOMPurify.sanitize(reader.highlight(text, { language, ignoreIllegals: true }).value, codeRules), '');
  return lines;
}
