// A hub for tests: one repository, under any name, of one file, which it sends as far as
// the test lets it.
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import http from 'node:http'

const commit = '0123456789abcdef0123456789abcdef01234567'

export class Hub {
  upTo = Infinity // bytes of the file that are sent; then the answer hangs
  cuts = 0 // so many answers break off half way
  ranges = []
  constructor(name, data) {
    this.name = name
    this.data = data
    this.sum = createHash('sha256').update(data).digest('hex')
    this.server = http.createServer((q, r) => this.serve(q, r))
  }
  async listen() {
    this.server.listen(0, '127.0.0.1')
    await once(this.server, 'listening')
    this.url = `http://127.0.0.1:${this.server.address().port}`
    return this
  }
  close() {
    this.server.close()
    this.server.closeAllConnections()
  }
  serve(q, r) {
    if (q.url.includes('/absent/')) return r.writeHead(401, { 'X-Error-Code': 'RepoNotFound' }).end()
    if (q.url.startsWith('/api/models/')) {
      const size = this.data.length
      return r.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify({ sha: commit, siblings: [{ rfilename: this.name, size, lfs: { sha256: this.sum, size } }] }))
    }
    const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(q.headers.range ?? '') ?? [0, 0, this.data.length - 1]
    this.ranges.push(Number(from))
    const end = Number(to) + 1
    const headers = { 'Content-Length': end - from, 'X-Linked-Size': this.data.length, 'X-Linked-ETag': `"${this.sum}"` }
    if (q.headers.range) headers['Content-Range'] = `bytes ${from}-${to}/${this.data.length}`
    r.writeHead(q.headers.range ? 206 : 200, headers)
    const last = Math.min(end, Math.max(Number(from), this.upTo))
    if (this.cuts > 0) {
      this.cuts--
      return r.write(this.data.subarray(Number(from), Number(from) + ((end - from) >> 2)), () => r.destroy())
    }
    const piece = this.data.subarray(Number(from), last)
    if (last === end) r.end(piece)
    else r.write(piece)
  }
}
