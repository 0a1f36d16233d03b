// Text that agents wrote. It never becomes markup, a request or a control of its own.
//
//   oneLine(text)             a name or a title: one line, 200 characters, no escape codes
//   plainText(text)           escape codes removed, \r and backspace applied
//   shownText(text)           plainText with masked secrets as chips: children for h()
//   markdown(text, options)   a node with data-md that shows rendered Markdown
//                             options: key, growing, pathHref(path), label
//   sgrOnly(text)             for the Log: all escape codes but colours and links removed
//
// Hidden characters (bidi controls, zero width, private use) are shown by code point, like U+202E.

const hiddenCharacters = /[\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ue000-\uf8ff]|\udb40[\udc00-\udfff]|[\udb80-\udbff][\udc00-\udfff]/g;
const showHidden = (text) => text.replace(hiddenCharacters, (c) => 'U+' + c.codePointAt(0).toString(16).toUpperCase().padStart(4, '0'));

// Escape codes: OSC, DCS, SOS, PM and APC up to their terminator, CSI, two-character codes and
// single C1 codes. An unterminated string code extends to the next escape code or the end of its
// line.
const stringCodes = /(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c|(?=\x1b)|(?=\n)|$)/g;
const controlCodes = /(?:\x1b\[|\x9b)[\x30-\x3f]*[\x20-\x2f]*[\x40-\x7e]?/g;
const shortCodes = /\x1b[\x20-\x2f]*[\x30-\x7e]?/g;
const singleCodes = /[\x00-\x07\x0b\x0c\x0e-\x1f\x7f-\x9f]/g;

// overwrite applies the backspaces and carriage returns of one line.
function overwrite(line) {
  if (!/[\r\b]/.test(line)) return line;
  const cells = [];
  let at = 0;
  for (const c of line.replace(/\r+$/, '')) {
    if (c === '\r') at = 0;
    else if (c === '\b') {
      if (at > 0) cells.splice(--at, 1);
    } else cells[at++] = c;
  }
  return cells.join('');
}

function plainText(text) {
  let clean = String(text ?? '');
  if (/[\x00-\x08\x0b-\x1f\x7f-\x9f]/.test(clean)) {
    clean = clean.replace(stringCodes, '').replace(controlCodes, '').replace(shortCodes, '');
    clean = clean.split('\n').map(overwrite).join('\n').replace(singleCodes, '');
  }
  return showHidden(clean);
}

const oneLine = (text, most = 200) => {
  const line = plainText(text).replace(/\s+/g, ' ').trim();
  return line.length > most ? line.slice(0, most) + '…' : line;
};

// sgrOnly keeps colours (CSI … m) and links (OSC 8). Other escape characters are shown as ␛.
function sgrOnly(text) {
  const keep = [];
  const kept = String(text ?? '').replace(/\ue000/g, 'U+E000').replace(/\x1b\[[0-9;:]*m|\x1b\]8;[^\x07\x1b\n]*(?:\x07|\x1b\\)/g, (code) => '\ue000' + (keep.push(code) - 1) + '\ue000');
  const rest = kept.replace(stringCodes, '').replace(/(?:\x1b\[|\x9b)[\x30-\x3f]*[\x20-\x2f]*[\x40-\x7e]/g, '').replace(/\x1b[\x20-\x2f]*[\x30-\x7e]/g, '').replace(/\x1b/g, '␛');
  return rest.split('\n').map(overwrite).join('\n').replace(/[\x00-\x07\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f]/g, '')
    .split(/\ue000(\d+)\ue000/).map((one, i) => (i % 2 ? keep[one] : showHidden(one))).join('');
}

// Secrets that the server masked: the marks in their place, and a test for them.
const secretMarks = /(\[REDACTED(?:_[A-Z]+)*\])/;
const hasSecret = (text) => secretMarks.test(text || '');
const secretChip = (mark, key) => h('span', { class: 'secret', key, title: 'A secret stood here. It is masked.' }, mark);

function shownText(text) {
  const clean = plainText(text);
  if (!hasSecret(clean)) return clean;
  return clean.split(secretMarks).map((one, i) => (i % 2 ? secretChip(one, 'secret/' + i) : one));
}

// ---- Markdown

const mdBytes = 256 << 10;
const mdNodes = 5000;
const mdTime = 50;
const mdShort = 4096; // shorter texts exceed mdTime only on a busy machine, so it does not apply to them
const mdPace = 250; // ms between renderings of a growing text

const mdTags = ['p', 'br', 'hr', 'h3', 'h4', 'h5', 'h6', 'strong', 'em', 'del', 'code', 'pre', 'blockquote', 'ul', 'ol', 'li', 'table', 'thead', 'tbody', 'tr', 'th', 'td', 'a', 'input', 'span'];
const mdRules = {
  ALLOWED_TAGS: mdTags, ALLOWED_ATTR: ['href', 'align', 'start', 'class', 'type', 'checked', 'disabled'],
  ALLOW_DATA_ATTR: false, ALLOW_ARIA_ATTR: false, ALLOWED_URI_REGEXP: /^(?:https?:|mailto:)/i, RETURN_DOM_FRAGMENT: true,
};
const codeRules = { ALLOWED_TAGS: ['span'], ALLOWED_ATTR: ['class'], ALLOW_DATA_ATTR: false, ALLOW_ARIA_ATTR: false, RETURN_DOM_FRAGMENT: true };

const escaped = (text) => String(text).replace(/[&<>"']/g, (c) => '&#' + c.charCodeAt(0) + ';');

function safeAddress(href) {
  try {
    const url = new URL(href);
    return ['http:', 'https:', 'mailto:'].includes(url.protocol) ? url : null;
  } catch {
    return null;
  }
}

// linkOf returns a link followed by its host, unless the text is the address itself. Hosts with
// non-ASCII letters are shown in punycode, as the network sees them.
function linkOf(href, inner, text) {
  const url = safeAddress(href);
  if (!url) return inner === '' ? escaped(href) : inner;
  const place = url.protocol === 'mailto:' ? url.pathname : url.host;
  const same = text === href || text === url.href || url.href === text + '/' || (url.protocol === 'mailto:' && text === url.pathname);
  const ascii = !/[^\x20-\x7e]/.test(text);
  return '<a href="' + escaped(url.href) + '">' + inner + '</a>' + (same && ascii ? '' : ' <span class="hl-host">(' + escaped(place) + ')</span>');
}

let mdParser = null;

function markdownParser() {
  if (mdParser) return mdParser;
  DOMPurify.addHook('uponSanitizeAttribute', (node, event) => {
    if (event.attrName === 'class') {
      event.attrValue = event.attrValue.split(/\s+/).filter((one) => /^hl-[\w-]+$/.test(one) || one === 'task').join(' ');
      if (!event.attrValue) event.keepAttr = false;
    }
  });
  mdParser = new marked.Marked({
    gfm: true,
    renderer: {
      html: ({ raw, text }) => escaped(raw ?? text),
      heading({ tokens, depth }) {
        const level = Math.min(6, Math.max(3, depth + 2));
        return '<h' + level + '>' + this.parser.parseInline(tokens) + '</h' + level + '>';
      },
      link({ href, tokens, text }) {
        return linkOf(href, this.parser.parseInline(tokens), text);
      },
      image: ({ href, text }) => linkOf(href, 'image: ' + escaped(text || 'no description'), ''),
      code: ({ text, lang }) => '<pre><code class="hl-lang-' + escaped((lang || 'text').split(/\s/)[0].replace(/[^\w-]/g, '')) + '">' + escaped(text) + '</code></pre>',
      codespan: ({ text }) => '<code>' + escaped(text) + '</code>',
      checkbox: ({ checked }) => '<input type="checkbox" disabled' + (checked ? ' checked' : '') + '> ',
    },
  });
  return mdParser;
}

// finish completes a sanitized fragment: link targets, chips, paths, highlighted fences.
function finish(fragment, options) {
  for (const a of fragment.querySelectorAll('a')) {
    a.target = '_blank';
    a.rel = 'noopener noreferrer nofollow';
  }
  for (const input of fragment.querySelectorAll('input')) {
    if (input.type !== 'checkbox') input.remove();
    input.disabled = true;
    input.setAttribute('aria-label', input.checked ? 'done' : 'to do');
  }
  for (const table of fragment.querySelectorAll('table, pre')) table.tabIndex = 0;
  for (const el of fragment.querySelectorAll('code')) {
    if (el.parentElement?.tagName === 'PRE') highlightFence(el);
    else pathLink(el, options.pathHref);
  }
  chipSecrets(fragment);
}

function pathLink(el, pathHref) {
  const href = pathHref && pathHref(el.textContent);
  if (!href || el.closest('a')) return;
  const a = document.createElement('a');
  a.href = href;
  el.replaceWith(a);
  a.append(el);
}

function chipSecrets(root) {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const found = [];
  while (walker.nextNode()) if (hasSecret(walker.currentNode.data)) found.push(walker.currentNode);
  for (const node of found) {
    const pieces = node.data.split(secretMarks).map((one, i) => {
      if (i % 2 === 0) return one;
      const chip = document.createElement('span');
      chip.className = 'secret';
      chip.textContent = one;
      return chip;
    });
    node.replaceWith(...pieces);
  }
}

// showMarkdown alone writes the children of data-md; the differ leaves them. It keeps unchanged
// blocks.
async function showMarkdown(el, of) {
  el.acMd = of;
  if (!vendoredNow('marked') || !vendoredNow('dompurify')) {
    if (!el.firstChild) el.textContent = plainText(of.text);
    const there = (await vendored('dompurify')) && (await vendored('marked'));
    if (!there || el.acMd !== of) {
      if (!there) el.textContent = plainText(of.text);
      return;
    }
  }
  const wait = of.growing && el.acMdAt ? mdPace - (performance.now() - el.acMdAt) : 0;
  if (wait > 0) {
    clearTimeout(el.acMdTimer);
    el.acMdTimer = setTimeout(() => el.acMd === of && renderMarkdown(el, of), wait);
    return;
  }
  renderMarkdown(el, of);
}

function renderMarkdown(el, of) {
  el.acMdAt = performance.now();
  const text = plainText(of.text);
  if (!of.whole && text.length > mdBytes) return asText(el, of, text);
  try {
    const blocks = markdownBlocks(el, of, text);
    if (blocks) showBlocks(el, blocks);
    else asText(el, of, text);
  } catch {
    asText(el, of, text);
  }
}

// markdownBlocks returns the nodes of each block, and reuses those of unchanged blocks. It returns
// null if the text exceeds the limits.
function markdownBlocks(el, of, text) {
  const parser = markdownParser();
  const began = performance.now();
  const tokens = parser.lexer(text);
  const before = el.acBlocks || [];
  const blocks = [];
  let nodes = 0;
  for (const [i, token] of tokens.entries()) {
    let block = before[i];
    if (!block || block.raw !== token.raw) {
      const fragment = DOMPurify.sanitize(parser.parser([token]), mdRules);
      finish(fragment, of);
      block = { raw: token.raw, count: fragment.querySelectorAll('*').length, nodes: [...fragment.childNodes] };
    }
    nodes += block.count;
    if (!of.whole && (nodes > mdNodes || (text.length > mdShort && performance.now() - began > mdTime))) return null;
    blocks.push(block);
  }
  return blocks;
}

function showBlocks(el, blocks) {
  const before = el.acBlocks;
  el.acBlocks = blocks;
  if (!before) {
    el.replaceChildren(...blocks.flatMap((block) => block.nodes));
    return;
  }
  const same = blocks.findIndex((block, i) => before[i] !== block);
  const from = same < 0 ? blocks.length : same;
  for (const block of before.slice(from)) for (const node of block.nodes) node.remove();
  for (const block of blocks.slice(from)) el.append(...block.nodes);
}

function asText(el, of, text) {
  el.acBlocks = null;
  const more = document.createElement('button');
  more.type = 'button';
  more.className = 'button';
  more.textContent = 'Show as Markdown';
  more.onclick = () => renderMarkdown(el, { ...of, whole: true });
  const body = document.createElement('span');
  body.className = 'md-text';
  body.textContent = text;
  el.replaceChildren(body, more);
}

// mdOf returns the same object for the same text, so that the differ sees no change.
const mdTexts = new Map();

function mdOf(text, growing, pathHref) {
  const known = mdTexts.get(text);
  if (known && known.growing === growing && known.pathHref === pathHref) return known;
  const of = { text, growing, pathHref };
  if (mdTexts.size > 2000) mdTexts.clear();
  mdTexts.set(text, of);
  return of;
}

function markdown(text, { key, growing = false, pathHref, label } = {}) {
  return h('div', { key, class: 'md', 'data-md': true, role: label ? 'group' : undefined, 'aria-label': label, draws: showMarkdown, of: mdOf(String(text ?? ''), growing, pathHref) });
}
