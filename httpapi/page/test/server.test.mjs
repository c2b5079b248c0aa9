import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { assert, close, fake, open, plain, quern, test } from './harness.mjs'

test('server: what it does is plotted as it does it', async () => {
  const { base } = await plain()
  const page = await open(base + '#/server')
  await page.getByText('Time to the first token').waitFor()
  await page.getByText('None: whoever reaches this address may use it.').waitFor()
  const limit = (name) => page.locator('.facts dl > div').filter({ has: page.getByText(name, { exact: true }) }).locator('dd').innerText()
  assert.deepEqual([await limit('json_body'), await limit('realtime_message'), await limit('realtime_audio')], ['16.8 MB', '4.19 MB', '3m'])
  const first = page.locator('figure').filter({ hasText: 'Time to the first token' }).locator('.key')
  await first.getByText('nothing yet').waitFor()
  await fetch(base + 'v1/chat/completions', { method: 'POST', body: JSON.stringify({ messages: [{ role: 'user', content: 'Tell me a story.' }], max_tokens: 60 }) })
  await first.filter({ hasText: /half of \d+ below/ }).waitFor()
  assert.ok((await page.locator('.plot canvas').count()) >= 8)
  await close(page)
})

test('server: keys are named, the values are not', async () => {
  const { base } = await quern({ QUERN_API_KEY: 'a-secret-key' })
  const page = await open(base + '#/server')
  await page.getByLabel('API key').fill('a-secret-key')
  await page.getByRole('button', { name: 'Use this key' }).click()
  await page.getByText('QUERN_API_KEY, yours').waitFor()
  assert.ok(!(await page.content()).includes('a-secret-key'))
  await close(page)
})

test('server: metrics that break off are told, and come back', async () => {
  const server = await fake()
  const page = await open(server.base + '#/server')
  await page.getByText('Tokens a second').waitFor()
  const port = server.port
  await server.die()
  await page.getByRole('alert').waitFor()
  await server.listen(port)
  await page.getByRole('alert').waitFor({ state: 'detached' })
  await close(page)
  await server.die()
})

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

for (const view of ['models', 'listen', 'speak', 'talk', 'server']) {
  test(`${view}: axe finds nothing serious, and nothing is wider than its window`, async () => {
    for (const [colorScheme, width] of [['light', 320], ['dark', 320], ['light', 1280], ['dark', 1280]]) {
      const page = await open((await plain()).base + '#/' + view, { colorScheme, viewport: { width, height: 640 } })
      await page.locator('.view h1').waitFor()
      await page.waitForLoadState('networkidle')
      await page.evaluate(axe)
      const { violations } = await page.evaluate(() => window.axe.run())
      const serious = violations.filter((v) => v.impact === 'serious' || v.impact === 'critical')
      assert.deepEqual(serious.map((v) => `${v.id}: ${v.nodes.map((n) => n.html).join(' ')}`), [])
      const wide = await page.evaluate(() => document.getElementById('content').scrollWidth - document.getElementById('content').clientWidth)
      assert.equal(wide, 0, 'it scrolls sideways')
      const broken = await page.locator('.rail span').evaluateAll((all) => all.filter((e) => getComputedStyle(e).clipPath === 'none').filter((e) => e.getClientRects().length > 1 || e.scrollWidth > e.parentElement.clientWidth).map((e) => e.textContent))
      assert.deepEqual(broken, [], 'names of views that break or stand out')
      await close(page)
    }
  })
}
