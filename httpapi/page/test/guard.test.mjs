import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { assert, at, close, ended, fake, json, model, open, plain, quern, say, test } from './harness.mjs'

test('keys: a wrong one, then the right one', async () => {
  const { base } = await quern({ QUERN_API_KEY: 'open sesame' })
  const page = await open(base)
  const dialog = page.getByRole('dialog', { name: 'This server asks for a key' })
  await dialog.getByRole('textbox', { name: 'API key' }).fill('wrong')
  await dialog.getByRole('button', { name: 'Use this key' }).click()
  await dialog.getByText('The server did not accept that key.').waitFor()
  await dialog.getByRole('textbox', { name: 'API key' }).fill('open sesame')
  await dialog.getByRole('textbox', { name: 'API key' }).press('Enter')
  await dialog.waitFor({ state: 'detached' })
  await say(page, 'What is the capital of France?')
  await at.answers(page).filter({ hasText: 'Paris' }).waitFor()

  // The tab remembers it; another does not, unless it is told to.
  await page.reload()
  await page.locator('.picker').filter({ hasText: 'quern-tiny' }).waitFor()
  const other = await page.context().newPage()
  await other.goto(base)
  const asked = other.getByRole('dialog', { name: 'This server asks for a key' })
  await asked.getByRole('button', { name: 'Close' }).click()
  await at.failed(other).filter({ hasText: 'Incorrect or missing API key.' }).waitFor()
  await other.getByRole('button', { name: 'Try again' }).click()
  await asked.getByRole('textbox', { name: 'API key' }).fill('open sesame')
  await asked.getByRole('checkbox', { name: 'Remember it on this device' }).check()
  await asked.getByRole('button', { name: 'Use this key' }).click()
  await other.locator('.picker').filter({ hasText: 'quern-tiny' }).waitFor()
  const third = await page.context().newPage()
  await third.goto(base)
  await third.locator('.picker').filter({ hasText: 'quern-tiny' }).waitFor()
  await close(page)
})

// Each of these would run __ran() in a page that let it, or load from evil.example.
const run = '__ran()'
const hostile = [
  `<script>${run}</script>`, `<img src=x onerror=${run}>`, `<svg onload=${run}>`, `<svg><script>${run}</script></svg>`, `<body onload=${run}>`,
  `<iframe src="javascript:${run}"></iframe>`, `<iframe srcdoc="<script>parent.${run}</script>"></iframe>`, `<object data="javascript:${run}"></object>`,
  `<embed src="javascript:${run}">`, `<a href="javascript:${run}">x</a>`, `<a href=" javascript:${run}">x</a>`, `<a href="java\tscript:${run}">x</a>`,
  `<form action="javascript:${run}"><button>x</button></form>`, `<input onfocus=${run} autofocus>`, `<select onfocus=${run} autofocus>`, `<textarea onfocus=${run} autofocus>`,
  `<details open ontoggle=${run}>`, `<video src=x onerror=${run}>`, `<audio src=x onerror=${run}>`, `<video><source onerror=${run}></video>`,
  `<marquee onstart=${run}>`, `<math><mtext></form><form><mglyph><style></math><img src onerror=${run}>`, `<noscript><p title="</noscript><img src=x onerror=${run}>">`,
  `<svg><style><img src=x onerror=${run}></style></svg>`, `<template><script>${run}</script></template>`, `<style>@import 'https://evil.example/a.css';</style>`,
  `<link rel=stylesheet href=https://evil.example/b.css>`, `<meta http-equiv=refresh content="0;url=https://evil.example/c">`, `<base href=https://evil.example/>`,
  `<img src=https://evil.example/d.png>`, `<div style="background:url(https://evil.example/e.png)">x</div>`, `<p onmouseover=${run} style="position:fixed;inset:0">x`,
  `[x](javascript:${run})`, `[x](JaVaScRiPt:${run})`, `[x](javascript&colon;${run})`, `[x](&#106;avascript:${run})`, `[x](\u0001javascript:${run})`, `[x](java%0Ascript:${run})`,
  `[x](data:text/html,<script>${run}</script>)`, `[x](data:image/svg+xml,<svg onload=${run}>)`, `[x](vbscript:${run})`, `[x](blob:https://evil.example/1)`, `[x](file:///etc/passwd)`,
  `[x]: javascript:${run}\n\n[x]`, `<javascript:${run}>`, `<https://evil.example/"onmouseover="${run}>`, `![x](https://evil.example/f.png)`, `![x](//evil.example/g.png)`,
  `![x](javascript:${run})`, `![x](data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9X19yYW4oKT4=)`, `![" onerror="${run}](x)`, `![x](https://evil.example/h.png "t\\" onerror=\\"${run}")`,
  `[![x](https://evil.example/i.png)](javascript:${run})`, `[x](https://evil.example/"onclick="${run})`, `[x](<https://evil.example/ onclick=${run}>)`, `[a](https://x.example "\\"><img src=x onerror=${run}>")`,
  '```"><img src=x onerror=' + run + '>\ncode\n```', '```js\n</code></pre><script>' + run + '</script>\n```', '`<img src=x onerror=' + run + '>`',
  `| <img src=x onerror=${run}> |\n|---|\n| <script>${run}</script> |`, `$\\href{javascript:${run}}{x}$`, `$$\\includegraphics{https://evil.example/j.png}$$`, `$\\url{javascript:${run}}$`,
  `$\\htmlStyle{background:url(https://evil.example/k)}{x}$`, `$\\htmlData{x=" onclick="${run}}{y}$`, `$<img src=x onerror=${run}>$`, `$\\def\\a{\\a\\a}\\a$`,
  `\u202e<script>${run}</script>`, `"><script>${run}</script>`, `'-${run}-'`, `\${${run}}`, `{{constructor.constructor('${run}')()}}`, `</textarea><script>${run}</script>`,
  `</title><script>${run}</script>`, `<!--><script>${run}</script>-->`, `<![CDATA[<script>${run}</script>]]>`, `<x:script xmlns:x="http://www.w3.org/1999/xhtml">${run}</x:script>`,
]

test('hostile text is text, wherever it comes from', async () => {
  assert.ok(new Set(hostile).size >= 60)
  const server = await fake()
  const everything = hostile.join('\n\n')
  server.models(...hostile.map((h) => model(h, { capabilities: [h], quantization: h, alias_of: h })), model('ear' + hostile[0], { type: 'transcription' }))
  const page = await open(server.base)
  await page.evaluate(() => {
    window.__count = 0
    window.__ran = () => window.__count++
    window.__violations = []
    addEventListener('securitypolicyviolation', (e) => window.__violations.push(`${e.violatedDirective} ${e.blockedURI}`))
  })

  // Models' names and what they can do.
  await page.locator('.picker').click()
  await page.getByRole('dialog', { name: 'Model' }).getByRole('listitem').nth(hostile.length - 1).waitFor()
  await harmless(page)
  await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click()

  // File names, and what they hold.
  const [chooser] = await Promise.all([page.waitForEvent('filechooser'), page.getByRole('button', { name: 'Attach text or sound' }).click()])
  await chooser.setFiles([
    { name: `${hostile[1]}.txt`.replaceAll('/', '_'), mimeType: 'text/plain', buffer: Buffer.from(everything) },
    { name: `${hostile[2]}.bin`.replaceAll('/', '_'), mimeType: 'text/plain', buffer: Buffer.from([0]) },
  ])
  await at.failed(page).filter({ hasText: 'is neither text' }).waitFor()
  await harmless(page)

  // Messages, answers, thoughts, calls and errors.
  server.chats((reply) => {
    for (let i = 0; i < everything.length; i += 37) reply.delta({ content: everything.slice(i, i + 37) })
    reply.delta({ reasoning_content: everything })
    hostile.forEach((h, i) => reply.delta({ tool_calls: [{ index: i, id: h, function: { name: h, arguments: JSON.stringify({ [h]: h }) } }] }))
    reply.end('tool_calls')
  })
  await say(page, everything)
  await page.locator('details.thinking summary').click()
  await page.locator('.message.user details summary').click()
  await page.getByRole('textbox', { name: 'What it returned' }).first().fill(everything)
  server.answers['/v1/chat/completions'] = (_, r) => json(r, { error: { message: everything, type: 'invalid_request_error', param: hostile[0], code: hostile[1] } }, 400)
  await page.getByRole('button', { name: 'Go on with these results' }).click()
  await ended(page)
  await at.failed(page).last().waitFor()
  await harmless(page)
  // Pictures are links that say where they lead; formulas and code are set.
  await page.locator('.prose .picture').filter({ hasText: '(evil.example)' }).first().waitFor()
  await page.locator('.prose math').first().waitFor()

  // One by one, each by itself a title and an answer.
  for (const text of hostile) {
    server.says(text)
    await page.getByRole('link', { name: 'New conversation' }).click()
    await page.getByRole('heading', { name: 'What shall we talk about?' }).waitFor()
    await say(page, text)
  }
  await harmless(page)
  await page.reload()
  await at.answers(page).waitFor()
  await harmless(page)

  // Every link leads to the web or to a mail program.
  const links = await page.locator('.prose a').evaluateAll((all) => all.map((a) => a.protocol))
  assert.deepEqual(links.filter((p) => !['http:', 'https:', 'mailto:'].includes(p)), [])
  await close(page) // which fails if a request left the origin
})

test('hostile names are names in every view', async () => {
  const server = await fake()
  const voices = hostile.map((h, i) => ({ id: h, name: h, description: h, language: h, model: hostile[i % 3] }))
  const all = hostile.map((h, i) => model(h + i, { type: ['chat', 'speech', 'transcription', 'embedding'][i % 4], architecture: h, format: h, quantization: h, status: ['loaded', h][i % 2] }))
  server.models(...all, model('other', { alias_of: hostile[0] }))
  server.answers['/v1/audio/voices'] = (_, r) => json(r, { voices })
  server.answers['/v1/server'] = (_, r) => json(r, { version: hostile[0], started: 1, auth: true, keys: hostile, key: hostile[1], manage: true, limits: { [hostile[2]]: hostile[3], headers: 1 }, timeouts: { [hostile[4]]: hostile[5], request_timeout_overrides: { [hostile[6]]: hostile[7] } } })
  server.answers['/v1/pulls'] = (_, r) => json(r, { data: hostile.map((h) => ({ model: h, state: 'stopped', completed: 1, total: 2, plan: { quantization: h, chosen: true, others: [h], download_bytes: 2 } })) })
  for (const m of all) server.answers['/v1/models/' + encodeURIComponent(m.id)] = (_, r) => json(r, { ...m, removable: true, memory: { bytes: 2, limit: 1, fits: false, why: m.id } })
  const everything = hostile.join(' ')
  const segments = hostile.map((text, i) => ({ id: i, start: i, end: i + 1, text }))
  server.answers['/v1/audio/transcriptions'] = (_, r) =>
    r.writeHead(200, { 'Content-Type': 'text/event-stream' }).end(`data: ${JSON.stringify({ type: 'transcript.text.done', text: everything, language: hostile[0], segments, words: hostile.map((word, i) => ({ word, start: i, end: i + 1 })) })}\n\n`)
  const page = await open(server.base)
  await page.evaluate(() => {
    window.__count = 0
    window.__ran = () => window.__count++
    window.__violations = []
    addEventListener('securitypolicyviolation', (e) => window.__violations.push(`${e.violatedDirective} ${e.blockedURI}`))
  })
  const to = async (view, shown) => {
    await page.evaluate((view) => (location.hash = '#/' + view), view)
    await shown.first().waitFor()
    await harmless(page)
  }
  await to('models', page.locator('.pull'))
  await page.locator('.why').nth(hostile.length - 1).waitFor()
  await page.getByRole('button', { name: /^Remove / }).first().click() // whose dialog has the name
  await harmless(page)
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
  await to('speak', page.locator('.voices option').nth(hostile.length - 1).locator('xpath=..'))
  await to('talk', page.getByRole('button', { name: 'Begin to talk' }))
  await to('server', page.locator('.badge').nth(hostile.length - 1))
  await to('use', page.getByRole('tab', { name: 'curl' }))
  for (const language of ['Python', 'JavaScript', 'Go']) {
    await page.getByRole('tab', { name: language }).click()
    await harmless(page)
  }
  await to('listen', page.getByRole('button', { name: 'Choose a file' }))
  for (const name of [hostile[1], hostile[2], hostile[0]]) {
    const [chooser] = await Promise.all([page.waitForEvent('filechooser'), page.getByRole('button', { name: 'Choose a file' }).click()])
    await chooser.setFiles({ name: name.replaceAll('/', '_') + '.wav', mimeType: 'audio/wav', buffer: Buffer.from('RIFF') })
    await page.locator('.segments li').nth(hostile.length - 1).waitFor()
    await harmless(page)
  }
  await page.getByRole('button', { name: 'Edit', exact: true }).click()
  await harmless(page)
  await close(page)
  await server.die()
})

// harmless fails if a script ran, or something is on the page that runs or loads.
async function harmless(page) {
  const found = await page.evaluate(() => ({
    ran: window.__count ?? 0,
    violations: window.__violations ?? [],
    elements: [...document.querySelectorAll('#app :is(script, iframe, object, embed, link, meta, base, style, form[action], marquee, video, template)')].map((e) => e.outerHTML),
    handlers: [...document.querySelectorAll('#app *')].flatMap((e) => [...e.attributes].filter((a) => /^on/i.test(a.name) || /^\s*javascript:/i.test(a.value)).map((a) => e.tagName + ' ' + a.name)),
    pictures: [...document.images].map((i) => i.src).filter((s) => !s.startsWith('data:image/')),
  }))
  assert.deepEqual(found, { ran: 0, violations: [], elements: [], handlers: [], pictures: [] })
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

// accessible fails for what axe finds serious.
async function accessible(page, what) {
  await page.evaluate(axe)
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }))
  const serious = violations.filter((v) => v.impact === 'serious' || v.impact === 'critical')
  assert.deepEqual(serious.map((v) => `${what}: ${v.id}: ${v.help}: ${v.nodes.map((n) => n.html.slice(0, 160)).join(' | ')}`), [])
}

const rich = '# Title\n\nSome *text* with `code` and [a link](https://example.com/).\n\n> quoted\n\n- a\n- b\n\n| a | b |\n|---|--:|\n| 1 | 2 |\n\n```python\ndef f(x):\n    return x + 1  # more\n```\n\n$$\\frac{a}{b}$$\n'

test('axe finds nothing serious, light and dark, wide and narrow', async () => {
  const server = await fake()
  for (const options of [{ colorScheme: 'light' }, { colorScheme: 'dark' }, { colorScheme: 'light', viewport: { width: 320, height: 640 } }]) {
    const page = await open(server.base, { ...options, reducedMotion: 'reduce' })
    const name = `${options.colorScheme} ${options.viewport?.width ?? 1280}`
    await page.locator('.welcome p').waitFor()
    await accessible(page, `${name} empty`)
    server.chats((reply) => {
      reply.delta({ reasoning_content: 'Let me think.' }).delta({ content: rich })
      reply.delta({ tool_calls: [{ index: 0, id: 'c', function: { name: 'f', arguments: '{}' } }] }).end('tool_calls')
    })
    await say(page, 'Hello')
    await page.locator('details.thinking summary').click()
    await page.locator('.prose math').waitFor()
    await page.locator('.prose .hljs-keyword').first().waitFor()
    await accessible(page, `${name} answered`)
    server.answers['/v1/chat/completions'] = (_, r) => json(r, { error: { message: 'no', code: 'nope' } }, 400)
    await page.getByRole('button', { name: 'Answer again' }).click()
    await at.failed(page).waitFor()
    await page.getByText('2 / 2').waitFor()
    await accessible(page, `${name} failed`)
    for (const [opener, title] of [[page.locator('.picker'), 'Model'], [page.getByRole('button', { name: 'Settings of this conversation' }), 'Settings of this conversation']]) {
      await opener.click()
      const dialog = page.getByRole('dialog', { name: title })
      await dialog.waitFor()
      await accessible(page, `${name} ${title}`)
      await page.keyboard.press('Escape')
      await dialog.waitFor({ state: 'detached' })
    }
    await page.getByRole('link', { name: 'Use it' }).click()
    await page.getByRole('tab', { name: 'curl' }).waitFor()
    await accessible(page, `${name} use`)
    // Nothing is wider than the window.
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
    assert.ok(wide <= 0, `${name}: ${wide} pixels too wide`)
    await close(page)
  }
})

test('the first load is small, and keeps to its policy', async () => {
  const { base } = await plain()
  const page = await open(base)
  await at.message(page).waitFor()
  const sizes = await page.evaluate(() =>
    [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')].filter((e) => !e.name.includes('/v1/')).map((e) => [new URL(e.name).pathname, e.encodedBodySize]),
  )
  const total = sizes.reduce((sum, [, size]) => sum + size, 0)
  console.log(`      ${(total / 1000).toFixed(1)} kB in ${sizes.length} files`)
  assert.ok(sizes.length >= 4 && total > 20_000, JSON.stringify(sizes))
  assert.ok(total <= 150_000, `${total} bytes: ${JSON.stringify(sizes)}`)
  assert.equal(await page.evaluate(() => crossOriginIsolated), true)
  await close(page)
})
