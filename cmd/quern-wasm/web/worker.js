// The worker in which quern runs. Its page gives it ports of the service worker, over which
// requests come, and files to open.
'use strict';

// The program when it goes on, as freeze.go describes it; null where the site is written.
const frozen = {{frozen}};

// running comes to the functions of main_js.go when they may be called, which wait from ready on.
const running = Promise.withResolvers(), started = Promise.withResolvers();
running.promise.then(() => performance.mark('ready'), () => {});
globalThis.site = {
  hub: name, // to pull from, '' is the usual one
  ready: started.resolve,
  failed: (text) => running.reject(new Error(text)),
};

// load fetches a file of the site.
async function load(name, options) {
  const r = await fetch(name, options);
  if (!r.ok) throw new Error(`${name}: the site answers ${r.status}`);
  return r;
}

process.cwd = () => '/'; // where wasm_exec.js has none
const go = new Go();
let program; // that runs: the functions of it that a start needs
let whole = false;

// rest has all functions of the program there, of a module that was compiled in time or of
// one that is waited for.
function rest(module) {
  if (whole) return;
  if (!module) {
    performance.mark('rest waited for');
    const r = new XMLHttpRequest();
    r.open('GET', 'rest.wasm', false);
    r.responseType = 'arraybuffer';
    r.send();
    if (r.status !== 200) throw new Error(`rest.wasm: the site answers ${r.status}`);
    module = new WebAssembly.Module(r.response);
  }
  whole = true;
  new WebAssembly.Instance(module, {...go.importObject, start: program.exports});
}

const settles = 1500; // ms after the start in which a first answer is not disturbed

// complete has helpers, and fetches the rest, when the start is over. Where that fails, who needs it hears of it.
function complete(kernels, memory) {
  setTimeout(() => {
    help(kernels, memory);
    WebAssembly.compileStreaming(load('rest.wasm')).then(rest).catch((e) => console.warn(e))
      .then(() => frozen && keepMemory()).catch((e) => console.debug('the next start is no faster:', e));
  }, settles);
}

const helpers = [];
const patience = 30_000; // ms that rows are waited for which a helper has taken

// help starts as many threads as there are cores left, where the page may share memory.
function help(module, memory) {
  const more = globalThis.crossOriginIsolated ? Math.min(navigator.hardwareConcurrency, 8) - 1 : 0;
  for (let i = 0; i < more; i++) {
    const w = new Worker('helper.js');
    w.onerror = (e) => console.warn(`a thread that helps to compute does not start: ${e.message || 'its file is missing'}`);
    w.postMessage({module, memory, patience});
    helpers.push(w);
  }
}

// lost is called when a helper does not come back.
function lost() {
  for (const w of helpers.splice(0)) w.terminate();
  console.warn('a thread that helped to compute has died; one thread goes on alone, and a reload of the page has them again');
}

// What browsers refuse to read or fill where threads share it, they are given as a copy.
const owned = (view) => Object.prototype.toString.call(view?.buffer) === '[object SharedArrayBuffer]' ? new Uint8Array(view.buffer, view.byteOffset, view.byteLength).slice() : view;
const {decode} = TextDecoder.prototype, {getRandomValues} = Crypto.prototype;
TextDecoder.prototype.decode = function (view, options) { return decode.call(this, owned(view), options); };
Crypto.prototype.getRandomValues = function (view) {
  const copy = owned(view);
  getRandomValues.call(this, copy);
  if (copy !== view) view.set(copy);
  return view;
};

// compile comes to the program.
function compile(signal) {
  const compiled = WebAssembly.compileStreaming(load('quern.wasm', {signal}));
  compiled.then(() => performance.mark('compiled'), () => {}); // start says so
  return compiled;
}

// thaw has the program go on from where it was when the site was written: it has started, and
// quern-tiny is loaded. All of it is in its memory, but for what it holds of JavaScript.
function thaw(memory, read) {
  if (!program.exports[`${frozen.version} table`] || !read) throw new Error('the files of the site are of different versions; load the page again');
  const bytes = new Uint8Array(memory.buffer), random = 32 * 8 + 4 * 8;
  let from = 0;
  for (let i = 0; i < frozen.image.length; i += 2) {
    const [at, size] = frozen.image.slice(i, i + 2);
    read(bytes.subarray(at, at + size), from);
    from += size;
  }
  for (const at of frozen.model) read(bytes.subarray(at, at + frozen.size), from + frozen.version.length);
  for (const at of frozen.random) crypto.getRandomValues(bytes.subarray(at, at + random));
  const wrapped = (id) => go._makeFuncWrapper(id);
  const kinds = {
    at: (path) => path.reduce((o, name) => o[name], globalThis),
    function: wrapped,
    text: (v) => v,
    over: () => ({}),
    channel(id) { // whose messages call a function
      channels[id] ??= new MessageChannel();
      channels[id].port1.onmessage ??= wrapped(id);
      return channels[id];
    },
    port: (id) => kinds.channel(id).port2,
  }, channels = {};
  const values = [NaN, 0, null, true, false, globalThis, go], ids = new Map(values.map((v, id) => [v, id]).slice(1));
  for (const [i, v] of frozen.values.entries()) {
    if (v) ids.set(values[7 + i] = kinds[v[0]](v[1]), 7 + i);
    else values[7 + i] = null;
  }
  Object.assign(go, {
    _inst: program, mem: new DataView(memory.buffer), _values: values, _ids: ids, _idPool: frozen.free, exited: false,
    _goRefCounts: [...new Array(7).fill(Infinity), ...frozen.counts],
  });
  go._resume(); // as when a time is over: it has no timers here yet
  site.ready(Object.fromEntries(Object.entries(frozen.functions).map(([name, id]) => [name, wrapped(id)])));
  return go._exitPromise;
}

// What a program that goes on has in memory is kept in a folder of the origin, which is read ten
// times as fast as the browser's cache.
const ownFolder = async () => (await navigator.storage.getDirectory()).getDirectoryHandle('quern-start', {create: true});
const fetchMemory = () => Promise.all(['memory.bin', 'quern-tiny.gguf'].map(async (name) => new Uint8Array(await (await load(name)).arrayBuffer())));

// findMemory comes to what reads bytes of memory.bin and then of quern-tiny.gguf into a place, to
// nothing where they are of another version.
async function findMemory() {
  try {
    // Chromium forgets what is asked of a file's handle that is collected meanwhile, so it has a name.
    const file = await (await ownFolder()).getFileHandle(frozen.version), h = await file.createSyncAccessHandle();
    return (into, at) => h.read(into, {at}); // it stays open: the engine is the one that reads it
  } catch { // it is not there yet
    const [memory, model] = await fetchMemory(), end = memory.length - frozen.version.length;
    if (new TextDecoder().decode(memory.subarray(end)) !== frozen.version || model.length !== frozen.size) return null;
    return (into, at) => into.set(at < end ? memory.subarray(at, at + into.length) : model);
  }
}

// keepMemory has it there the next time.
async function keepMemory() {
  const folder = await ownFolder();
  for await (const name of folder.keys()) {
    if (name === frozen.version) return;
    await folder.removeEntry(name);
  }
  const part = await folder.getFileHandle('part', {create: true}), h = await part.createSyncAccessHandle();
  let at = 0;
  try {
    for (const b of await fetchMemory()) at += h.write(b, {at});
    h.flush();
  } finally {
    h.close();
  }
  await part.move(frozen.version);
}

// clock gives Go the time since some time, which goes on from where it was.
function clock(sp) {
  const ns = (frozen.clock + performance.now()) * 1e6;
  sp >>>= 0;
  go.mem.setUint32(sp + 8, ns, true);
  go.mem.setUint32(sp + 12, ns / 2 ** 32, true);
}

async function start() {
  // There is one engine among the pages of a site; the next page takes over when its own is closed.
  const held = (options) => new Promise((resolve) => navigator.locks.request(`quern ${new URL('..', location).pathname}`, options, (lock) => {
    resolve(!!lock);
    return lock && new Promise(() => {}); // as long as the page lives
  }));
  const leave = new AbortController();
  let compiled = compile(leave.signal); // does not wait to be told that there is no other
  if (!await held({ifAvailable: true})) {
    leave.abort();
    await held({});
    compiled = compile();
  }
  postMessage('engine');
  go.env = {TMPDIR: '/tmp', HOME: '/tmp'};
  for (const name of ['quern-tiny.gguf', 'lexicon.bin', 'graphones.bin', 'mandarin.bin']) disk.site(`/site/${name}`, name);
  const found = frozen && findMemory();
  found?.catch(() => {}); // who waits for it hears of it
  disk.folder('/kept');
  const kept = disk.keep('/kept').catch((e) => console.warn('no storage here: models that are fetched are forgotten', e));
  // As much as Go has asked for.
  const memory = new WebAssembly.Memory({initial: frozen?.pages ?? 1024, maximum: 65536, shared: true});
  const kernels = await WebAssembly.instantiateStreaming(load('kernels.wasm'), {go: {mem: memory}, team: {lost}});
  Object.assign(go.importObject, {go: {mem: memory}, quern: kernels.instance.exports, site: {rest: () => rest()}});
  if (frozen) go.importObject.gojs['runtime.nanotime1'] = clock;
  program = await WebAssembly.instantiate(await compiled, go.importObject);
  performance.mark('instantiated');
  const ended = frozen ? thaw(memory, await found) : go.run(program);
  ended.then(() => site.failed('the engine has ended'));
  const functions = await started.promise;
  if (await kept) await functions.serves('/kept');
  running.resolve(functions);
  complete(kernels.module, memory);
}

start().catch((e) => site.failed(String(e)));

// answer has Go serve one request, and sends the answer's parts over port.
function answer(request, port, {serve}) {
  const body = request.body?.getReader();
  let control, room, over = false;
  const gone = () => {
    room?.();
    if (!over) exchange.gone();
  };
  const exchange = {
    method: request.method, path: request.path, headers: request.headers, body: !!body,
    read: async () => (await body.read()).value ?? null,
    stop() { body.cancel().catch(() => {}); },
    head(status, headers) {
      const bare = request.method === 'HEAD' || status === 204 || status === 304;
      const stream = bare ? null : new ReadableStream({
        start(c) { control = c; },
        pull() { room?.(); },
        cancel: gone,
      }, new ByteLengthQueuingStrategy({highWaterMark: 64 << 10}));
      port.postMessage({status, headers, body: stream}, stream ? [stream] : []);
    },
    write(bytes) {
      try {
        control.enqueue(bytes);
      } catch { // it was cancelled
        return null;
      }
      return control.desiredSize > 0 ? null : new Promise((resolve) => { room = resolve; });
    },
    end() { try { control?.close(); } catch { /* cancelled */ } },
    fail(text) {
      if (control) control.error(new TypeError(text));
      else port.postMessage({failed: text});
    },
    done() {
      over = true;
      port.close();
    },
  };
  port.onmessage = gone; // the one message there is says that the client left
  exchange.gone = serve(exchange);
}

let opened = 0; // times that files were
const most = 3 * 2 ** 30; // bytes of a model's file

// sys calls fs.js as Go does.
const sys = (name, ...args) => new Promise((resolve, reject) => fs[name](...args, (e, v) => e ? reject(e) : resolve(v)));

const messages = {
  // connect: requests come over port, and wait here for the engine to start.
  connect({port}) {
    port.onmessage = async ({data, ports: [answers]}) => {
      try {
        answer(data, answers, await running.promise);
      } catch (e) {
        answers.postMessage({down: e.message});
      }
    };
    port.postMessage({ready: true});
  },
  // fetch serves the model of an address, which stays in the origin's folder. Where its
  // SHA-256 is known it is checked, and a fetch goes on where one was broken off.
  async fetch({url, sha256}) {
    const {sum, serves} = await running.promise, address = new URL(url), name = address.pathname.split('/').pop();
    if (!/^[^.].*\.(gguf|bin)$/i.test(name)) throw new Error(`${url} names no .gguf or .bin file`);
    const folders = ['/kept', 'url', address.host.replace(':', '_')], path = [...folders, name].join('/'), part = path + '.part';
    for (let i = 2; i <= 3; i++) await sys('mkdir', folders.slice(0, i).join('/'), 0o755).catch((e) => { if (e.code !== 'EEXIST') throw e; });
    const {O_RDWR, O_CREAT} = fs.constants, fd = await sys('open', part, O_RDWR | O_CREAT, 0o644);
    let at = sha256 ? (await sys('fstat', fd)).size : 0;
    try {
      const r = await fetch(url, at ? {headers: {Range: `bytes=${at}-`}} : {});
      if (r.status !== 416 && !r.ok) throw new Error(`${address.host} answers ${r.status}`);
      if (r.status !== 206 || !r.headers.get('Content-Range')?.startsWith(`bytes ${at}-`)) at = r.status === 416 ? at : 0;
      const size = at + Number(r.headers.get('Content-Length') ?? 0);
      if (size > most) throw new Error(`${name} takes ${Math.ceil(size / 2 ** 20)} MiB, and no more than ${most / 2 ** 20} MiB can be run here; take one with fewer bits a weight, or a smaller model`);
      if (r.status !== 416) {
        await sys('ftruncate', fd, at);
        const reader = r.body.getReader();
        for (let p; !(p = await reader.read()).done;) at += await sys('write', fd, p.value, 0, p.value.length, at);
      }
      await sys('fsync', fd);
    } finally {
      await sys('close', fd);
    }
    if (sha256 && await sum(part) !== sha256.toLowerCase()) {
      await sys('unlink', part);
      throw new Error(`${url} is not the file whose SHA-256 is ${sha256}; it was thrown away`);
    }
    await sys('rename', part, path);
    const id = await serves(path);
    if (!id) throw new Error(`${name} is here and cannot be served as a model; the console says why`);
    return id;
  },
  // open serves the model of files the user picked: one file, or the files of a folder.
  async open({name, files}) {
    const {add} = await running.promise;
    const folder = `/models/${++opened}`, single = files.length === 1 && !files[0].webkitRelativePath;
    for (const f of files) disk.file(`${folder}/${f.webkitRelativePath.split('/').slice(1).join('/') || f.name}`, f);
    try {
      return await add(name, single ? `${folder}/${files[0].name}` : folder);
    } catch (e) {
      disk.remove(folder);
      throw e;
    }
  },
};

onmessage = async ({data, ports}) => {
  const reply = {id: data.id};
  try {
    reply.value = await messages[data.do]({...data, port: ports[0]});
  } catch (e) {
    reply.error = e.message;
  }
  if (data.id !== undefined) postMessage(reply);
};
