// Starts quern in a browser: registers the service worker, runs the engine in a worker of
// one page of the site, and then loads the page's own scripts, which find an API below
// their folder as a server would have it. globalThis.quern opens files:
//
//	await quern.open(files)         // of an <input type=file>; comes to the model's name
//	await quern.fetch(url, sha256)  // the same of a file on another server; sha256 may be left out
'use strict';

(() => {
{{ask}}
  const here = document.currentScript, folder = new URL('.', here.src), site = new URL('..', folder);
  const calls = new Map(); // to the engine that are not answered, by their ids
  const worker = Promise.withResolvers(); // when this page's is the one that runs the engine
  const pages = new BroadcastChannel(`quern ${site.pathname}`); // to the page that has it, and back
  let engine; // where it is here, the port that takes requests

  // Every page starts a worker at once, before its own scripts run; one of them has the engine.
  const w = new Worker(new URL('worker.js', folder), {name: here.dataset.hub ?? ''});
  // A worker that does not start has no answers of its own.
  const broken = new Promise((_, reject) => {
    w.onerror = (e) => {
      engine = undefined;
      reject(new Error(`quern does not start: ${e.message || 'its files are missing'}`));
      worker.resolve({worker: w, broken});
    };
  });
  broken.catch(() => {});
  w.onmessage = ({data}) => {
    if (data === 'engine') {
      const {port1, port2} = new MessageChannel();
      w.postMessage({do: 'connect'}, [port2]);
      engine = port1;
      worker.resolve({worker: w, broken});
    } else if (calls.has(data.id)) settle(data);
    else pages.postMessage(data);
  };
  pages.onmessage = ({data}) => {
    if (!data.do) settle(data);
    else if (engine) w.postMessage(data);
  };

  function settle({id, value, error}) {
    const result = calls.get(id);
    calls.delete(id);
    if (error) result?.reject(new Error(error));
    else result?.resolve(value);
  }

  // call has the engine do something: here, or in the page that has it. Where that is closed
  // first the engine comes here.
  function call(message) {
    const id = crypto.randomUUID(), result = Promise.withResolvers();
    calls.set(id, result);
    if (!engine) pages.postMessage({...message, id});
    worker.promise.then(({worker: w, broken}) => {
      if (!calls.has(id)) return;
      broken.catch(result.reject);
      w.postMessage({...message, id});
    });
    return result.promise;
  }

  // The service worker asks for the engine; who does not have it lets the port go.
  navigator.serviceWorker.addEventListener('message', async ({data, ports}) => {
    if (data.quern !== 'connect') return;
    const {worker: w, broken} = await worker.promise;
    const started = await Promise.race([broken.catch((e) => e), undefined]);
    if (started) ports[0].postMessage({failed: started.message});
    else w.postMessage({do: 'connect'}, ports);
  });
  navigator.serviceWorker.startMessages();

  // Requests of the page that has the engine go straight to it. Those of others go through the
  // service worker, which Chromium does not tell that a client left before the answer began, so
  // the page does.
  const {fetch} = globalThis, files = new Set({{files}});
  globalThis.fetch = async (input, init) => {
    const request = new Request(input, init), {pathname, search} = new URL(request.url);
    const file = request.url.startsWith(site) ? pathname.slice(site.pathname.length) : '';
    if (files.has(file)) return fetch(request);
    if (engine) return Object.defineProperty(await ask(engine, request, `/${file}${search}`, request.signal), 'url', {value: request.url});
    if (!(init?.signal ?? input.signal)) return fetch(request);
    const call = crypto.randomUUID();
    request.headers.set('x-quern-call', call);
    request.signal.addEventListener('abort', () => navigator.serviceWorker.controller?.postMessage({gone: call}), {once: true});
    return fetch(request);
  };

  globalThis.quern = {
    // fetch serves the model at an address, and keeps it.
    fetch: (url, sha256) => call({do: 'fetch', url: String(url), sha256}),
    // open serves the model of one file, or of the files of one folder.
    open(files) {
      const list = [...files];
      const name = (list[0].webkitRelativePath.split('/')[0] || list[0].name).replace(/\.(gguf|bin|onnx|pth|safetensors)$/i, '');
      return call({do: 'open', name, files: list});
    },
  };

  const register = () => navigator.serviceWorker.register(new URL('sw.js', site), {scope: site.pathname});
  const settles = 5000; // ms after which a look for a newer site disturbs no start

  // control comes to nothing when requests of this page go to the service worker.
  async function control() {
    const {controller} = navigator.serviceWorker;
    if (controller) {
      setTimeout(() => register().catch((e) => console.warn('the site is not brought up to date:', e)), settles);
      return;
    }
    await register();
    const {active} = await navigator.serviceWorker.ready;
    if (navigator.serviceWorker.controller) return;
    const controlled = new Promise((resolve) => navigator.serviceWorker.addEventListener('controllerchange', resolve, {once: true}));
    active.postMessage('claim');
    await controlled;
  }

  quern.ready = control().then(() => {
    const script = Object.assign(document.createElement('script'), {type: 'module', src: here.dataset.then});
    const ran = new Promise((resolve, reject) => Object.assign(script, {onload: resolve, onerror: reject}));
    document.head.append(script);
    return ran;
  });
})();
