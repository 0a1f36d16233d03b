// All projects: a card for each, and the most urgent needs of all.

const projectCards = 8; // needs shown below the cards

function projectCard(id, p) {
  return h('li', { key: id }, h('a', { class: 'card project-card', href: hrefOf('now', '', '', { project: id }), 'data-project': id, title: id },
    h('h2', {}, oneLine(p.name, 80)),
    h('p', { class: 'project-counts' }, projectCounts(p)),
    h('span', { class: 'meter', role: 'img', 'aria-label': p.done_pct + ' % of the tasks are done' }, h('span', { class: 'meter-fill', style: { width: p.done_pct + '%' } })),
    h('p', { class: 'sub' }, [p.done_pct + ' %', p.blocked > 0 && count(p.blocked) + ' blocked', (known(p.cost_today) ? money(p.cost_today) : none) + ' today'].filter(Boolean).join(' · '))));
}

const projectCounts = (p) => [p.needs > 0 && h('strong', { key: 'n' }, plural(p.needs, 'needs you', 'need you') + ' '), p.failed > 0 && h('span', { key: 'f', class: 'bad-text' }, count(p.failed) + ' failed '), h('span', { key: 'l' }, p.live > 0 ? count(p.live) + ' ' + lostWord('live') : p.failed > 0 || p.needs > 0 ? '0 live' : 'nothing runs')];

const byName = ([a, x], [b, y]) => x.name.localeCompare(y.name) || (a < b ? -1 : 1);

function projectsView() {
  const list = [...rowsOf('projects')].sort(byName);
  const needs = [...rowsOf('needs')].sort(byUrgency).slice(0, projectCards);
  return h('div', { class: 'page', key: 'projects' },
    h('header', { class: 'pane-head' }, h('div', {}, h('h1', { tabindex: '-1', id: 'title' }, 'All projects'), h('p', { class: 'sub' }, plural(list.length, 'project'))), h('a', { class: 'button primary', href: hrefOf('start') }, '+ Start')),
    h('div', { class: 'scroller', tabindex: '0', role: 'group', 'aria-label': 'Projects' },
      !store.ready ? loading('Reading the projects…') : list.length ? h('ul', { class: 'project-cards' }, list.map(([id, p]) => projectCard(id, p))) : empty('No project yet', 'Make one in a terminal: ac project:new'),
      needs.length > 0 && h('section', { class: 'card', 'aria-labelledby': 'everywhere' }, h('header', { class: 'card-head' }, h('h2', { id: 'everywhere' }, 'Needs you, everywhere'), h('a', { href: hrefOf('needs', '', '', { project: allProjects }) }, 'see all')),
        h('ul', { class: 'need-rows' }, needs.map(([id, row]) => h('li', { key: id }, needRow(id, row, { inline: true })))))));
}
