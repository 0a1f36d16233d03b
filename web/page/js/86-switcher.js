// The project switcher: all projects first, then by name. Typing filters the list.

function openSwitcher() {
  state.switching = { q: '', at: 0, opener: document.activeElement };
  changed();
}

function closeSwitcher(back = true) {
  const { opener } = state.switching;
  state.switching = null;
  drawNow();
  if (back) refocus(opener);
}

function switcherOptions() {
  const wanted = state.switching.q.trim().toLowerCase();
  const list = [...rowsOf('projects')].sort(byName).map(([id, p]) => ({ id, name: oneLine(p.name, 80), live: p.live, needs: p.needs }));
  return [{ id: '', name: 'All projects', live: rowOf('counts', 'all')?.live, needs: rowOf('counts', 'all')?.needs }, ...list].filter((one) => !wanted || one.name.toLowerCase().includes(wanted));
}

function chooseProject(one) {
  if (!one) return;
  closeSwitcher(false);
  const view = ['runs', 'projects'].includes(state.route.view) ? 'now' : state.route.view;
  go(view, '', '', { project: one.id || allProjects });
  focusTitle();
}

function switcherKey(event) {
  const options = switcherOptions();
  const it = state.switching;
  if (event.key === 'ArrowDown' || event.key === 'ArrowUp') it.at = options.length ? (it.at + (event.key === 'ArrowDown' ? 1 : -1) + options.length) % options.length : 0;
  else if (event.key === 'Enter') chooseProject(options[it.at]);
  else if (event.key === 'Escape') closeSwitcher();
  else if (event.key !== 'Tab') return;
  changed();
  event.stopPropagation();
  event.preventDefault();
}

function switcherView() {
  const it = state.switching;
  if (!it) return null;
  const options = switcherOptions();
  it.at = Math.min(it.at, Math.max(0, options.length - 1));
  return h('div', { class: 'overlay top-overlay', key: 'switcher', onclick: (e) => e.target.classList.contains('overlay') && closeSwitcher() },
    h('div', { class: 'dialog palette', role: 'dialog', 'aria-modal': 'true', 'aria-label': 'Switch project', onkeydown: switcherKey },
      h('input', { type: 'text', class: 'field', role: 'combobox', 'aria-expanded': 'true', 'aria-controls': 'switcher-list', 'aria-activedescendant': options.length ? 'switcher-' + it.at : undefined, 'aria-autocomplete': 'list', 'aria-label': 'Project', placeholder: 'Project…', autocomplete: 'off', value: it.q, mounted: (el) => el.focus(), oninput: (e) => { it.q = e.target.value; it.at = 0; changed(); } }),
      h('div', { role: 'listbox', id: 'switcher-list', 'aria-label': 'Projects', class: 'palette-list' }, options.map((one, i) => h('div', { key: one.id, role: 'option', id: 'switcher-' + i, 'aria-selected': String(it.at === i), title: one.id || undefined, 'data-project': one.id || 'all', class: 'palette-option' + (it.at === i ? ' chosen' : ''), onclick: () => chooseProject(one) },
        h('span', { class: 'palette-title' }, one.name), h('span', { class: 'sub' }, [one.needs > 0 && count(one.needs) + ' need you', (one.live || 0) + ' live'].filter(Boolean).join(' · ')))))));
}
