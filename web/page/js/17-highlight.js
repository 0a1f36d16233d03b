// Syntax highlighting of Markdown fences and diffs, once the library has loaded.

async function highlightFence(el) {
  const lang = [...el.classList].map((one) => /^hl-lang-(.+)$/.exec(one)?.[1]).find(Boolean);
  const fragment = await highlighted(el.textContent, lang);
  if (fragment) el.replaceChildren(fragment);
}

const languageNames = {
  golang: 'go', js: 'javascript', jsx: 'javascript', mjs: 'javascript', ts: 'typescript', tsx: 'typescript', py: 'python', rs: 'rust', sh: 'bash', shell: 'bash', zsh: 'bash',
  yml: 'yaml', html: 'xml', svg: 'xml', md: 'markdown', h: 'c', cc: 'cpp', 'c++': 'cpp', hpp: 'cpp',
};
const languages = ['go', 'javascript', 'typescript', 'python', 'rust', 'java', 'bash', 'json', 'yaml', 'sql', 'css', 'xml', 'markdown', 'c', 'cpp'];

// highlighter returns the library with one language, or null if that cannot be loaded.
async function highlighter(language) {
  try {
    const hljs = (await vendoredModule('core.min.js')).default;
    hljs.configure({ classPrefix: 'hl-' });
    if (!hljs.getLanguage(language)) hljs.registerLanguage(language, (await vendoredModule(language + '.min.js')).default);
    return (await vendored('dompurify')) ? hljs : null;
  } catch {
    return null;
  }
}

// highlighted returns a fragment with spans of class hl-*, or null if the text cannot be
// highlighted.
async function highlighted(text, lang) {
  const name = String(lang || '').toLowerCase();
  const language = languageNames[name] || name;
  if (!languages.includes(language) || text.length > mdBytes) return null;
  const hljs = await highlighter(language);
  return hljs && DOMPurify.sanitize(hljs.highlight(text, { language, ignoreIllegals: true }).value, codeRules);
}
