// The vendored libraries, each loaded on first use.
//
//   await vendored('marked')   true once marked has loaded, false if it cannot be loaded;
//                              the text is then shown as it is
//   vendoredNow('marked')      whether it has loaded already
//   await vendoredModule('ansi_up.js')   a library that is an ES module
//
// boot.vendor lists the files: library, name, kind, src, integrity. The page loads nothing else.

const vendorFiles = boot.vendor || [];
const vendorLoads = new Map(); // library: promise
const vendorThere = new Set();

const scriptPolicy = globalThis.trustedTypes?.createPolicy('ac', {
  createScriptURL(src) {
    if (vendorFiles.some((file) => file.src === src)) return src;
    throw new TypeError('not a file of the server: ' + src);
  },
});

const scriptAddress = (src) => (scriptPolicy ? scriptPolicy.createScriptURL(src) : src);

const vendoredSource = (name) => vendorFiles.find((file) => file.name === name).src;
const vendoredModule = (name) => import(vendoredSource(name));

function loadFile({ src, kind, integrity }) {
  const style = kind === 'style';
  const el = document.createElement(style ? 'link' : 'script');
  el.integrity = integrity;
  if (style) {
    el.rel = 'stylesheet';
    el.href = src;
  } else el.src = scriptAddress(src);
  return new Promise((resolve, reject) => {
    el.onload = resolve;
    el.onerror = () => reject(new Error(src + ' cannot be loaded'));
    document.head.append(el);
  });
}

// vendored loads the files of a library in order.
function vendored(name) {
  if (vendorLoads.has(name)) return vendorLoads.get(name);
  const files = vendorFiles.filter((file) => file.library === name && file.kind !== 'module');
  const load = (async () => {
    for (const file of files) await loadFile(file);
    if (!files.length) return false;
    vendorThere.add(name);
    return true;
  })().catch(() => {
    vendorLoads.delete(name); // the next use tries again
    return false;
  });
  vendorLoads.set(name, load);
  return load;
}

const vendoredNow = (name) => vendorThere.has(name);
