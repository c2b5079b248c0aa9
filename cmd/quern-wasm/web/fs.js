// The file system of quern's worker: what Go's os asks of node's fs. Three kinds of files:
// in memory (what the site brings, fetched when it is wanted, and temporary files), the user's
// (a File, read in pieces and never copied whole), and files of the origin's private folder
// (OPFS), which stay.
'use strict';

(() => {
  const constants = {O_WRONLY: 1, O_RDWR: 2, O_CREAT: 64, O_EXCL: 128, O_TRUNC: 512, O_APPEND: 1024, O_DIRECTORY: 65536};
  const S_DIR = 0o40000, S_FILE = 0o100000;
  const texts = new TextDecoder();
  let inodes = 0;

  const fault = (code) => Object.assign(new Error(code), {code});

  // codeOf names a failure of the browser as node does.
  const codes = {QuotaExceededError: 'ENOSPC', NotFoundError: 'ENOENT', NotReadableError: 'EIO', NoModificationAllowedError: 'EBUSY', InvalidStateError: 'EBADF'};
  const codeOf = (e) => e.code && typeof e.code === 'string' ? e : fault(codes[e.name] ?? (e instanceof RangeError ? 'ENOSPC' : 'EIO'));

  class Node {
    ino = ++inodes;
    time = Date.now();
    opened = 0;
    async open() { this.opened++; }
    close() { this.opened--; }
    sync() {}
    truncate() { throw fault('EROFS'); }
    write() { throw fault('EROFS'); }
  }

  // A Folder has entries by name. One of OPFS has a handle, and so have those below it.
  class Folder extends Node {
    entries = new Map();
    size = 0;
    constructor(handle) {
      super();
      this.handle = handle;
    }
    read() { throw fault('EISDIR'); }
  }

  class Memory extends Node {
    bytes = new Uint8Array(0);
    size = 0;
    read(into, at) {
      const part = this.bytes.subarray(at, Math.min(this.size, at + into.length));
      into.set(part);
      return part.length;
    }
    write(from, at) {
      this.grow(at + from.length);
      this.bytes.set(from, at);
      return from.length;
    }
    truncate(size) {
      if (size < this.size) this.bytes.fill(0, size, this.size);
      this.grow(size);
      this.size = size;
    }
    grow(size) {
      if (size > this.bytes.length) {
        const more = new Uint8Array(Math.max(size, Math.min(2 * this.bytes.length, this.bytes.length + (32 << 20))));
        more.set(this.bytes.subarray(0, this.size));
        this.bytes = more;
      }
      this.size = Math.max(this.size, size);
    }
  }

  class Fetched extends Memory { // a file of the site, whole from when it is opened
    constructor(url) {
      super();
      this.url = url;
    }
    fetch() {
      return this.coming ??= (async () => {
        const r = await fetch(this.url);
        if (!r.ok) throw fault('EIO');
        this.bytes = new Uint8Array(await r.arrayBuffer());
        this.size = this.bytes.length;
      })().catch((e) => {
        this.coming = undefined; // the next who opens it tries again
        throw e;
      });
    }
    async open() {
      await this.fetch();
      this.opened++;
    }
  }

  class Picked extends Node { // a File of the user
    constructor(file) {
      super();
      this.file = file;
      this.size = file.size;
      this.time = file.lastModified;
    }
    read(into, at) {
      const part = new FileReaderSync().readAsArrayBuffer(this.file.slice(at, at + into.length));
      into.set(new Uint8Array(part));
      return part.byteLength;
    }
  }

  class Kept extends Node { // a file of OPFS
    constructor(handle, size, time) {
      super();
      this.handle = handle;
      this.length = size;
      this.time = time;
    }
    get size() { return this.access ? this.access.getSize() : this.length; }
    async open() {
      this.opening ??= this.handle.createSyncAccessHandle();
      this.opened++;
      try {
        this.access = await this.opening;
      } catch (e) {
        this.opened--;
        this.opening = undefined;
        throw e;
      }
    }
    close() {
      if (--this.opened > 0 || !this.access) return;
      this.length = this.access.getSize();
      this.access.close();
      this.access = this.opening = undefined;
    }
    read(into, at) { return this.access.read(into, {at}); }
    write(from, at) {
      const n = this.access.write(from, {at});
      if (n < from.length) throw fault('ENOSPC');
      this.time = Date.now();
      return n;
    }
    truncate(size) { this.access.truncate(size); }
    sync() { this.access.flush(); }
  }

  const root = new Folder();
  const names = (path) => path.split('/').filter((n) => n && n !== '.');

  // find returns the node at a path, its folder and its last name.
  function find(path) {
    let folder = root, node = root, last = '';
    for (const name of names(path)) {
      if (!(node instanceof Folder)) throw fault(node ? 'ENOTDIR' : 'ENOENT');
      [folder, node, last] = [node, node.entries.get(name), name];
    }
    return {folder, node, last};
  }

  function there(path) {
    const at = find(path);
    if (!at.node) throw fault('ENOENT');
    return at;
  }

  const files = new Map(); // by descriptor
  let descriptors = 2;

  function opened(fd) {
    const f = files.get(fd);
    if (!f) throw fault('EBADF');
    return f;
  }

  const stat = (n) => ({
    dev: 1, ino: n.ino, mode: n instanceof Folder ? S_DIR | 0o755 : S_FILE | 0o644, nlink: 1, uid: 0, gid: 0, rdev: 0,
    size: n.size, blksize: 4096, blocks: Math.ceil(n.size / 512), atimeMs: n.time, mtimeMs: n.time, ctimeMs: n.time,
    isDirectory: () => n instanceof Folder,
  });

  const streams = {1: '', 2: ''};

  // print writes whole lines to the console.
  function print(fd, bytes) {
    const lines = (streams[fd] + texts.decode(bytes)).split('\n');
    streams[fd] = lines.pop();
    for (const line of lines) console.log(line);
    return bytes.length;
  }

  const drop = async ({folder, last, node}) => {
    if (folder.handle) {
      if (node.access) { // no browser removes a file that is open
        node.opened = 1;
        node.close();
      }
      await folder.handle.removeEntry(last);
    }
    folder.entries.delete(last);
  };

  // What Go calls, without the callbacks.
  const calls = {
    async open(path, flags) {
      let {folder, node, last} = find(path);
      if (node && flags & constants.O_CREAT && flags & constants.O_EXCL) throw fault('EEXIST');
      if (!node) {
        if (!(flags & constants.O_CREAT)) throw fault('ENOENT');
        node = folder.handle ? new Kept(await folder.handle.getFileHandle(last, {create: true}), 0, Date.now()) : new Memory();
        folder.entries.set(last, node);
      }
      if (flags & constants.O_DIRECTORY && !(node instanceof Folder)) throw fault('ENOTDIR');
      await node.open();
      if (flags & constants.O_TRUNC) node.truncate(0);
      files.set(++descriptors, {node, at: 0, append: !!(flags & constants.O_APPEND)});
      return descriptors;
    },
    close(fd) {
      opened(fd).node.close();
      files.delete(fd);
    },
    read(fd, buffer, offset, length, position) {
      const f = opened(fd);
      const n = f.node.read(buffer.subarray(offset, offset + length), position ?? f.at);
      if (position === null) f.at += n;
      return n;
    },
    write(fd, buffer, offset, length, position) {
      const part = buffer.subarray(offset, offset + length);
      if (fd in streams) return print(fd, part);
      const f = opened(fd);
      const n = f.node.write(part, f.append ? f.node.size : position ?? f.at);
      if (position === null) f.at += n;
      return n;
    },
    fstat: (fd) => stat(fd <= 2 ? new Memory() : opened(fd).node),
    stat: (path) => stat(there(path).node),
    lstat: (path) => stat(there(path).node),
    readdir(path) {
      const {node} = there(path);
      if (!(node instanceof Folder)) throw fault('ENOTDIR');
      return [...node.entries.keys()];
    },
    async mkdir(path) {
      const {folder, node, last} = find(path);
      if (node) throw fault('EEXIST');
      folder.entries.set(last, new Folder(folder.handle && await folder.handle.getDirectoryHandle(last, {create: true})));
    },
    async rmdir(path) {
      const at = there(path);
      if (!(at.node instanceof Folder)) throw fault('ENOTDIR');
      if (at.node.entries.size) throw fault('ENOTEMPTY');
      await drop(at);
    },
    async unlink(path) {
      const at = there(path);
      if (at.node instanceof Folder) throw fault('EISDIR');
      await drop(at);
    },
    async rename(from, to) {
      const a = there(from), b = find(to);
      if (a.node === b.node) return;
      if (a.node instanceof Folder || b.node instanceof Folder || !a.folder.handle !== !b.folder.handle) throw fault('EXDEV');
      if (b.node) await drop(b);
      if (a.node.handle) await a.node.handle.move(b.folder.handle, b.last);
      a.folder.entries.delete(a.last);
      b.folder.entries.set(b.last, a.node);
    },
    async truncate(path, size) {
      const {node} = there(path);
      await node.open();
      try {
        node.truncate(size);
      } finally {
        node.close();
      }
    },
    ftruncate: (fd, size) => opened(fd).node.truncate(size),
    fsync: (fd) => opened(fd).node.sync(),
    utimes(path, _, modified) { there(path).node.time = modified * 1000; },
    readlink() { throw fault('EINVAL'); },
  };
  for (const name of ['chmod', 'fchmod', 'chown', 'fchown', 'lchown']) calls[name] = () => {};
  for (const name of ['link', 'symlink']) calls[name] = () => { throw fault('EPERM'); };

  globalThis.fs = {constants, writeSync: print};
  for (const [name, call] of Object.entries(calls)) {
    globalThis.fs[name] = (...args) => {
      const done = args.pop();
      let v;
      try {
        v = call(...args);
      } catch (e) {
        return done(codeOf(e));
      }
      if (v instanceof Promise) v.then((v) => done(null, v), (e) => done(codeOf(e)));
      else done(null, v);
    };
  }

  // put makes a file at a path, with its folders.
  function put(path, node) {
    let folder = root;
    const list = names(path), last = list.pop();
    for (const name of list) {
      if (!folder.entries.has(name)) folder.entries.set(name, new Folder());
      folder = folder.entries.get(name);
    }
    folder.entries.set(last, node);
  }

  // mirror reads the folder of a handle.
  async function mirror(handle) {
    const folder = new Folder(handle);
    for await (const [name, h] of handle.entries()) {
      if (h.kind === 'directory') {
        folder.entries.set(name, await mirror(h));
        continue;
      }
      const f = await h.getFile();
      folder.entries.set(name, new Kept(h, f.size, f.lastModified));
    }
    return folder;
  }

  globalThis.disk = {
    // site makes a file of what is at a URL, which is fetched when it is first opened or when
    // fetch of what this returns is called.
    site(path, url) {
      const node = new Fetched(url);
      put(path, node);
      return node;
    },
    folder: (path) => put(path, new Folder()),
    file: (path, file) => put(path, new Picked(file)),
    // keep has the origin's folder at a path, and comes to whether something is in it.
    async keep(path) {
      const folder = await mirror(await (await navigator.storage.getDirectory()).getDirectoryHandle('quern', {create: true}));
      put(path, folder);
      return folder.entries.size > 0;
    },
    remove(path) {
      const {folder, last} = find(path);
      folder.entries.delete(last);
    },
  };
  put('/tmp', new Folder());
})();
