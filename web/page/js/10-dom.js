// A virtual DOM: the differ compares a tree of plain objects with the one before and writes only
// the differences. So nothing flickers, and focus, selection and scroll positions stay. Values
// reach the document as text or attributes, never as markup. Reusing an unchanged node costs
// nothing.
//
// If an element has the property draws, that function draws its children instead, from the value of
// the property of. It is called on creation and whenever that value changes.

const svgTags = new Set(['svg', 'path', 'rect', 'line', 'circle', 'g', 'text', 'polyline', 'polygon', 'title', 'defs', 'marker']);

// h makes a node: h('li', {key, class, onclick, ...}, children...). Children are nodes, texts,
// numbers and arrays. It ignores null, undefined and booleans.
function h(tag, props, ...children) {
  const list = [];
  flatten(children, list);
  return { tag, props: props || {}, key: props && props.key, children: list, el: null };
}

function flatten(from, into) {
  for (const child of from) {
    if (child === null || child === undefined || child === false || child === true) continue;
    if (Array.isArray(child)) flatten(child, into);
    else if (typeof child === 'object') into.push(child);
    else into.push({ tag: '#text', text: String(child), el: null });
  }
}

// patchChildren updates the children of an element from the old tree to the new one.
function patchChildren(el, before, after, svg) {
  const byKey = new Map();
  const loose = [];
  for (const node of before) {
    if (node.key !== undefined) byKey.set(node.key, node);
    else loose.push(node);
  }
  let at = 0;
  let place = el.firstChild;
  for (const node of after) {
    let old;
    if (node.key !== undefined) {
      old = byKey.get(node.key);
      if (old) byKey.delete(node.key);
    } else {
      old = loose[at];
      if (old && old.tag === node.tag) loose[at++] = null;
      else {
        const found = loose.findIndex((o, i) => i >= at && o && o.tag === node.tag);
        old = found < 0 ? undefined : loose[found];
        if (found >= 0) loose[found] = null;
        while (at < loose.length && loose[at] === null) at++;
      }
    }
    if (old && old.tag === node.tag) {
      patchNode(old, node, svg);
      if (old.el === place) place = place.nextSibling;
      else el.insertBefore(old.el, place);
    } else {
      if (old) byKey.set(node.key, old);
      el.insertBefore(build(node, svg), place);
    }
  }
  for (const node of loose) if (node) drop(node);
  for (const node of byKey.values()) drop(node);
}

function drop(node) {
  node.el.remove();
  left(node);
}

function left(node) {
  if (node.tag === '#text') return;
  if (node.props.unmounted) node.props.unmounted(node.el);
  for (const child of node.children) left(child);
}

function build(node, svg) {
  if (node.tag === '#text') return (node.el = document.createTextNode(node.text));
  svg = node.tag === 'svg' || (svg && svgTags.has(node.tag));
  const el = svg ? document.createElementNS('http://www.w3.org/2000/svg', node.tag) : document.createElement(node.tag);
  node.el = el;
  for (const name in node.props) setProp(el, name, undefined, node.props[name]);
  for (const child of node.children) el.appendChild(build(child, svg));
  if ('value' in node.props && node.tag === 'select') el.value = node.props.value;
  if (node.props.draws) node.props.draws(el, node.props.of);
  if (node.props.mounted) queueMicrotask(() => node.props.mounted(el));
  return el;
}

function patchNode(old, node, svg) {
  node.el = old.el;
  if (old === node) return;
  if (node.tag === '#text') {
    if (old.text !== node.text) node.el.data = node.text;
    return;
  }
  svg = node.tag === 'svg' || (svg && svgTags.has(node.tag));
  for (const name in old.props) if (!(name in node.props)) setProp(node.el, name, old.props[name], undefined);
  for (const name in node.props) {
    // People change these two in the document itself, so compare with the element.
    const theirs = name === 'value' || name === 'checked';
    if (theirs || old.props[name] !== node.props[name]) setProp(node.el, name, old.props[name], node.props[name]);
  }
  if (!node.props.draws) patchChildren(node.el, old.children, node.children, svg);
  else if (old.props.of !== node.props.of) node.props.draws(node.el, node.props.of);
  // The selected option may have been added just now.
  if (node.tag === 'select' && 'value' in node.props) setProp(node.el, 'value', undefined, node.props.value);
}

function setProp(el, name, before, now) {
  if (name === 'key' || name === 'mounted' || name === 'unmounted' || name === 'draws' || name === 'of') return;
  if (name.startsWith('on')) {
    if (!el.acHandlers) el.acHandlers = {};
    const type = name.slice(2);
    if (!(type in el.acHandlers)) el.addEventListener(type, (event) => el.acHandlers[type] && el.acHandlers[type](event), { passive: type === 'scroll' });
    el.acHandlers[type] = now;
    return;
  }
  if (name === 'value' && el.tagName !== 'OPTION') {
    if (el.value !== (now ?? '')) el.value = now ?? '';
    return;
  }
  if (name === 'checked' || name === 'disabled' || name === 'hidden') {
    el[name] = Boolean(now);
    return;
  }
  if (name === 'style') {
    // Set rules one by one: a style attribute would need a weaker content policy.
    for (const rule in before || {}) if (!now || !(rule in now)) el.style.removeProperty(rule);
    for (const rule in now || {}) if (!before || before[rule] !== now[rule]) el.style.setProperty(rule, now[rule]);
    return;
  }
  if (now === undefined || now === null || now === false) el.removeAttribute(name);
  else el.setAttribute(name, now === true ? '' : String(now));
}

// mount returns a function that draws a tree into an element.
function mount(el) {
  let shown = [];
  return (tree) => {
    const next = [];
    flatten([tree], next);
    patchChildren(el, shown, next, false);
    shown = next;
  };
}
