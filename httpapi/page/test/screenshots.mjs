// QUERN=binary node test/screenshots.mjs FOLDER [WORD]: pictures of the views, for the documents;
// only those with WORD in their names.
import { join } from 'node:path'
import { end, fake, model, open, say } from './harness.mjs'

const [folder, word = ''] = process.argv.slice(2)
const wide = { viewport: { width: 1280, height: 800 } }
const phone = { viewport: { width: 390, height: 780 }, deviceScaleFactor: 1, hasTouch: true, isMobile: true }

const reply = `A **quern** is a pair of stones that grinds grain by hand. The lower stone stays, the upper one turns.

1. Grain goes in through the *eye*, the hole in the middle.
2. The stones grind it on its way out.
3. Flour leaves at the rim.

How much it grinds grows with the area of the stone, $A = \\pi r^2$:

| radius | area | flour an hour |
|---:|---:|---:|
| 20 cm | 0.13 m² | 1.2 kg |
| 30 cm | 0.28 m² | 2.7 kg |

\`\`\`python
from math import pi

def flour(radius, per_area=9.5):
    """Kilograms an hour of a stone of this radius, in metres."""
    return per_area * pi * radius**2
\`\`\`
`

async function talked(page, server) {
  server.models(model('llama-3.2-3b-instruct', { capabilities: ['chat', 'completion', 'tools'], quantization: 'Q4_K_M', size_bytes: 2.02e9 }))
  for (const title of ['Names for a small mill', 'Sourdough at 70 % hydration', 'Why flour dust burns']) {
    server.says('Of course.')
    await page.goto(server.base + '#/chat')
    await page.getByRole('heading', { name: 'What shall we talk about?' }).waitFor()
    await say(page, title)
  }
  await page.reload()
  await page.getByRole('link', { name: 'New conversation' }).or(page.getByRole('button', { name: 'Show conversations' })).first().waitFor()
  await page.goto(server.base + '#/chat')
  await page.getByRole('heading', { name: 'What shall we talk about?' }).waitFor()
  server.chats((r) => {
    r.delta({ reasoning_content: 'They ask what a quern is.' }).delta({ content: reply })
    r.delta({}, 'stop').event({ choices: [], usage: { prompt_tokens: 412, completion_tokens: 231 }, timings: { predicted_per_second: 41.3 } })
    r.r.end('data: [DONE]\n\n')
  })
  await say(page, 'How does a quern work, and how much does it grind?')
  await page.locator('.hljs-keyword').first().waitFor()
  await page.locator('math').first().waitFor()
}

const shots = {
  'chat-light': [{ ...wide, colorScheme: 'light' }, talked],
  'chat-dark': [{ ...wide, colorScheme: 'dark' }, talked],
  'chat-phone': [{ ...phone, colorScheme: 'light' }, talked],
  'chat-phone-dark': [{ ...phone, colorScheme: 'dark' }, talked],
}
for (const view of ['Speak', 'Models', 'Use it']) {
  const go = (page) => page.getByRole('link', { name: view }).click()
  const name = view.split(' ')[0].toLowerCase()
  shots[name + '-light'] = [{ ...wide, colorScheme: 'light' }, go]
  shots[name + '-dark'] = [{ ...wide, colorScheme: 'dark' }, go]
  shots[name + '-phone'] = [{ ...phone, colorScheme: 'light' }, go]
}

for (const [name, [options, prepare]] of Object.entries(shots)) {
  if (!name.includes(word)) continue
  const server = await fake()
  const page = await open(server.base, { ...options, reducedMotion: 'reduce' })
  await prepare(page, server)
  await page.waitForLoadState('networkidle')
  await page.evaluate(() => document.activeElement?.blur())
  await page.screenshot({ path: join(folder, name + '.png') })
  await page.context().close()
}
await end()
process.exit(0)
