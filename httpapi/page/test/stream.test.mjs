import { build } from 'esbuild'
import { assert, at, close, ended, fake, open, test } from './harness.mjs'

const line = 'The miller takes *what* the wind gives, and `grinds` it **between** two stones. '
const long = {
  paragraph: line.repeat(500),
  'paragraph with an open mark': 'a * b [c ' + 'many plain words in a row '.repeat(1500),
  'one word': 'x'.repeat(40_000),
  list: Array.from({ length: 600 }, (_, i) => `- point ${i}: ${line}\n`).join(''),
  'numbered list': Array.from({ length: 600 }, (_, i) => `${i + 1}. ${line}\n`).join(''),
  'nested list': Array.from({ length: 600 }, (_, i) => `${i % 5 ? '  ' : ''}- ${line}\n`).join(''),
  quotation: Array.from({ length: 400 }, () => `> ${line}\n`).join(''),
  table: '| a | b |\n|---|--:|\n' + Array.from({ length: 800 }, (_, i) => `| ${i} | ${line}|\n`).join(''),
  code: '```go\n' + Array.from({ length: 1500 }, (_, i) => `\tx[${i}] = y /* ${i} */\n`).join('') + '```\n\nAfter.\n',
  'code in a list': '- so:\n\n  ```js\n' + Array.from({ length: 1500 }, (_, i) => `  f(${i});\n`).join('') + '  ```\n- then\n',
  mixed: Array.from({ length: 60 }, (_, i) => `## Part ${i}\n\n${line.repeat(4)}\n\n- one\n- two\n  - three\n\n\`\`\`python\nprint(${i})\n\`\`\`\n\n`).join(''),
}

const short = [
  '', 'a', 'Hello **wor', '# A\n\ntext\n===\n\nmore\n---\n', '- a\n- b\n\n- c\n\n  inside\n\nout\n', '1. a\n\n2. b\n\n3. c', '- a\n\n      code\n',
  '> q\nlazy\n\n> r\n> > s\n', '```\nopen fence\n# no heading', '~~~js\nf()\n~~~\n```\nagain\n```', '    indented\n\n    more\n\nend', 'a\n- b\n+ c\n* d\n',
  '|a|b|\n|:-|-:|\n|1|2|\n|3\n\nend', 'text\n|a|\n|-|\n|b|', 'see [one] and [two]\n\n[one]: https://example.com/\n[two]: https://example.org/ "t"\n',
  '***\n- - -\n___', '* a\n\n  * b\n\n    * c\n\n\n\nd', 'https://example.com/a_b_c and x@example.com', '![p](https://example.com/p.png) ![d](data:image/png;base64,AAAA)',
  'שלום *עולם*\n\n- مرحبا\n- b', '<b>no html</b> &amp; &lt; \\* \\<', '[x](javascript:alert(1)) [y](//example.com) [z](#/chat/1)', 'a  \nb\\\nc\nd', '1) x\n2) y\n- z',
  '- [ ] a\n- [x] b', 'a\n\n\n\n\nb\r\nc\r\n\r\nd', '#\n##\n### ###\n', '`a``b` ``c`d``', '**a*b**c* __d_e__', 'x '.repeat(40) + '\n' + '-'.repeat(10),
]

// bench is a page that has the tests' own script.
async function bench() {
  const { outputFiles } = await build({
    entryPoints: [new URL('markdown.entry.ts', import.meta.url).pathname], bundle: true, format: 'iife', write: false,
    absWorkingDir: new URL('..', import.meta.url).pathname, jsx: 'automatic', jsxImportSource: 'preact',
  })
  const server = await fake()
  server.answers['/assets/bench.js'] = (_, r) => r.writeHead(200, { 'Content-Type': 'text/javascript', 'Cross-Origin-Resource-Policy': 'same-origin' }).end(outputFiles[0].text)
  const page = await open(server.base)
  await page.addScriptTag({ url: server.base + 'assets/bench.js' })
  return page
}

test('markdown: what grew is what is drawn at once', async () => {
  const page = await bench()
  let random = 1
  const next = (n) => (random = (random * 48271) % 2147483647) % n
  for (const text of [...short, ...Object.values(long).map((t) => t.slice(0, 9000))]) {
    for (const pieces of [text.length < 500 ? [1] : [61], Array.from({ length: 17 }, () => 1 + next(text.length < 500 ? 9 : 400))]) {
      const { grown, once } = await page.evaluate(([t, p]) => window.grown(t, p), [text, pieces])
      assert.ok(grown === once, `${JSON.stringify(text.slice(0, 200))} in pieces of ${pieces}:\n${grown.slice(0, 400)}\nat once:\n${once.slice(0, 400)}`)
    }
  }
  await close(page)
})

test('markdown: an update reads a bounded part of the text', async () => {
  const page = await bench()
  for (const [name, text] of Object.entries(long)) {
    const { read, updates } = await page.evaluate(([t, p]) => window.grown(t, p), [text, [40]])
    // Of every update at most twice what is kept open, on top of each block once or twice.
    assert.ok(read <= updates * 9500 + 4 * text.length, `${name}: ${read} characters were read in ${updates} updates of a text of ${text.length}`)
  }
  await close(page)
})

// The time is told, not judged: it is the machine's as much as the page's.
test('markdown: a reply of 10,000 tokens', async () => {
  const server = await fake()
  const page = await open(server.base)
  const text = long.mixed.repeat(2).slice(0, 40_000)
  await page.evaluate(() => {
    window.frames_ = []
    const { port1, port2 } = new MessageChannel()
    let begun = 0
    port1.onmessage = () => window.frames_.push(performance.now() - begun)
    const frame = () => {
      begun = performance.now()
      port2.postMessage(0) // is heard once the frame is drawn
      requestAnimationFrame(frame)
    }
    requestAnimationFrame(frame)
  })
  server.chats(async (reply) => {
    for (let i = 0; i < text.length; i += 4) {
      reply.delta({ content: text.slice(i, i + 4) })
      // About a thousand tokens a second.
      if (i % 64 === 0) await new Promise((done) => setTimeout(done, 16))
    }
    reply.end('stop', 10_000)
  })
  await at.message(page).fill('Tell me everything')
  await at.message(page).press('Enter')
  await at.answers(page).waitFor()
  await page.evaluate(() => (window.frames_.length = 0))
  await ended(page)
  const frames = (await page.evaluate(() => window.frames_)).sort((a, b) => a - b)
  const part = (q) => frames[Math.floor(q * (frames.length - 1))].toFixed(1)
  console.log(`      ${frames.length} frames: median ${part(0.5)} ms, p95 ${part(0.95)} ms, longest ${part(1)} ms`)
  assert.ok(frames.length > 10)
  assert.equal(await at.answers(page).locator('.prose h2').count(), (text.match(/## Part/g) ?? []).length)
  await close(page)
})
