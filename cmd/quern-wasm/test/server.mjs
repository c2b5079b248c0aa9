// A server of files, with no header that a site of files would not have.
import { createHash } from 'node:crypto'
import { createReadStream, existsSync, readFileSync, statSync } from 'node:fs'
import { createServer } from 'node:http'
import { extname, join } from 'node:path'

const types = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.wasm': 'application/wasm', '.svg': 'image/svg+xml' }

// serve serves a folder below /below/, its pages after edit has changed them. headers are of
// every answer.
export async function serve(root, { headers = {}, edit = (html) => html } = {}) {
  const server = createServer((req, res) => {
    let path = decodeURIComponent(new URL(req.url, 'http://x').pathname)
    if (path.endsWith('/')) path += 'index.html'
    const file = join(root, path.replace(/^\/below\//, '/'))
    if (!path.startsWith('/below/') || !existsSync(file) || !statSync(file).isFile()) return res.writeHead(404).end()
    res.writeHead(200, { 'Content-Type': types[extname(file)] ?? 'application/octet-stream', ...headers })
    if (file.endsWith('.html')) res.end(edit(readFileSync(file, 'utf8')))
    else createReadStream(file).pipe(res)
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${server.address().port}/below/`,
    close: () => new Promise((resolve) => { server.close(resolve); server.closeAllConnections() }),
  }
}

// hub serves one model as the hub does, to pages of other origins. The first connection for
// its file breaks after a third of it.
export async function hub(bytes) {
  const sha256 = createHash('sha256').update(bytes).digest('hex'), commit = '0123456789abcdef0123456789abcdef01234567'
  const shared = { 'Access-Control-Allow-Origin': '*', 'Access-Control-Expose-Headers': '*', 'Access-Control-Allow-Headers': '*' }
  const asked = []
  const server = createServer((req, res) => {
    if (req.method === 'OPTIONS') return res.writeHead(204, shared).end()
    if (req.url.startsWith('/closed/')) return res.writeHead(200).end() // to pages of other origins
    if (req.url.startsWith('/api/models/')) {
      const lfs = { sha256, size: bytes.length }
      return res.writeHead(200, shared).end(JSON.stringify({ sha: commit, siblings: [{ rfilename: 'small-Q8_0.gguf', size: bytes.length, lfs }] }))
    }
    const range = /bytes=(\d+)-(\d*)/.exec(req.headers.range)
    const [from, to] = range ? [Number(range[1]), range[2] ? Number(range[2]) : bytes.length - 1] : [0, bytes.length - 1]
    asked.push(from)
    res.writeHead(range ? 206 : 200, { ...shared, 'Content-Length': to - from + 1, 'Content-Range': `bytes ${from}-${to}/${bytes.length}` })
    if (asked.length > 1 && !req.url.includes('broken')) return res.end(bytes.subarray(from, to + 1))
    res.write(bytes.subarray(from, from + Math.floor(bytes.length / 3)), () => setTimeout(() => res.destroy(), 500))
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { url: `http://127.0.0.1:${server.address().port}`, asked, sha256, close: () => new Promise((resolve) => { server.close(resolve); server.closeAllConnections() }) }
}
