// The service worker of the site: its files come from the cache, and every other request
// goes to the engine, which runs in a worker of one page.
'use strict';

const VERSION = '{{version}}', FILES = new Set({{files}});
const scope = new URL(registration.scope).pathname;
const patience = 120_000; // ms that a request waits for the engine to start

addEventListener('install', (event) => {
  event.waitUntil((async () => {
    const cache = await caches.open(VERSION);
    await cache.addAll([...FILES].map((f) => new Request(scope + f, {cache: 'no-cache'})));
    for (const f of ['', 'index.html', 'engine/worker.js', 'engine/helper.js']) await isolate(cache, scope + f);
  })());
  // A browser that knows routes takes the files from the cache itself, and does not wait for
  // this worker to start.
  const source = {cacheName: VERSION};
  event.addRoutes?.([...FILES].map((f) => ({condition: {urlPattern: {pathname: scope + f}, requestMethod: 'GET'}, source})));
});

addEventListener('activate', (event) => event.waitUntil((async () => {
  for (const name of await caches.keys()) if (name.startsWith('quern-') && name !== VERSION) await caches.delete(name);
  await clients.claim();
})()));

// isolate gives a file the headers with which browsers let its page share memory between
// threads, from the next time that it is loaded.
async function isolate(cache, url) {
  const r = await cache.match(url), headers = new Headers(r.headers);
  headers.set('Cross-Origin-Opener-Policy', 'same-origin');
  headers.set('Cross-Origin-Embedder-Policy', 'credentialless');
  await cache.put(url, new Response(r.body, {headers}));
}

// leave ends calls whose clients leave before they are answered, by their x-quern-call.
const leave = new Map();

addEventListener('message', (event) => {
  const {data} = event;
  if (data === 'claim') clients.claim();
  else if (data.gone) leave.get(data.gone)?.();
});

addEventListener('fetch', (event) => {
  const url = new URL(event.request.url);
  if (url.origin !== location.origin || !url.pathname.startsWith(scope)) return;
  const file = url.pathname.slice(scope.length);
  if (event.request.mode === 'navigate' || FILES.has(file)) event.respondWith(cached(FILES.has(file) ? file : ''));
  else event.respondWith(reply(event.request, '/' + file + url.search, event.clientId));
});

async function cached(file) {
  const found = await (await caches.open(VERSION)).match(scope + file);
  return found ?? fetch(scope + file);
}

// engine comes to the port of the engine, its page, and what is aborted when that is closed.
let engine;

// connect asks every page for the engine, until the one that has it answers.
async function connect() {
  const found = Promise.withResolvers();
  const ask = async () => {
    for (const client of await clients.matchAll({type: 'window', includeUncontrolled: true})) {
      const {port1, port2} = new MessageChannel(), one = {port: port1, client: client.id, end: new AbortController()};
      port1.onmessage = ({data}) => data.failed ? found.reject(new Error(data.failed)) : found.resolve(one);
      found.promise.then((e) => e === one ? watch(one) : port1.close(), () => port1.close());
      client.postMessage({quern: 'connect'}, [port2]);
    }
  };
  const again = setInterval(ask, 1000);
  const late = setTimeout(() => found.reject(new Error('quern runs in a page of this site, and none is open; open one')), patience);
  try {
    await ask();
    return await found.promise;
  } finally {
    clearInterval(again);
    clearTimeout(late);
  }
}

// watch ends what an engine has begun when its page is closed.
function watch(e) {
  const look = setInterval(async () => {
    if (await clients.get(e.client)) return;
    clearInterval(look);
    e.end.abort(new TypeError('the page in which quern runs was closed'));
  }, 1000);
}

// connected is the engine that is there, or the next.
async function connected() {
  const e = await (engine ??= connect());
  if (!e.end.signal.aborted && await clients.get(e.client)) return e;
  return engine = connect();
}

{{ask}}
// reply has the engine answer a request.
async function reply(request, path, client) {
  let e;
  try {
    e = await connected();
  } catch (error) {
    engine = undefined; // the next request looks for one again
    return down(error.message);
  }
  const left = new AbortController(), gone = () => left.abort(), call = request.headers.get('x-quern-call');
  if (call) leave.set(call, gone);
  const closed = setInterval(async () => { if (client && !await clients.get(client)) gone(); }, 1000);
  try {
    return await ask(e.port, request, path, AbortSignal.any([e.end.signal, left.signal]));
  } catch {
    return Response.error();
  } finally {
    leave.delete(call);
    clearInterval(closed);
  }
}
