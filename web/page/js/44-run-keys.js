// The keys of an open run.

// runKey returns the action of a key on the page of a run, or null if it has none there.
function runKey(key) {
  const open = state.open;
  if (!open || open.missing) return null;
  switch (key) {
    case '[': return () => stepTab(-1);
    case ']': return () => stepTab(1);
    case 'e': return () => stepError(1);
    case 'E': return () => stepError(-1);
    case 'f': return () => toEnd(tabOfRun() === 'log' ? 'log/' + open.id : listName(open));
    case 's': return () => runLives(open) && askStop(open);
    default: return null;
  }
}
