// The page's Talk view in Chromium, whose microphone is a file of speech: a turn is heard,
// written down, answered in sound, and its times are shown; through /v1/realtime, and over
// plain HTTP as where that is not there.
//
//   BASE_URL=http://127.0.0.1:8080 API_KEY=… AUDIO=speech.wav CHROMIUM=/usr/bin/chromium node talk.mjs
import { chromium } from 'playwright-core';

// With it playwright ends the browser.
const end = (why) => { console.error(`ended: ${why}`); process.exit(1); };
setTimeout(end, 240_000, 'not done after 240 s').unref();
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.once(signal, end);
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM,
  args: ['--no-sandbox', '--autoplay-policy=no-user-gesture-required', '--use-fake-ui-for-media-stream', '--use-fake-device-for-media-stream', `--use-file-for-fake-audio-capture=${process.env.AUDIO}%noloop`],
});
async function talk(how) {
  const page = await (await browser.newContext({ permissions: ['microphone'] })).newPage();
  const problems = [];
  if (how === 'plain HTTP') await page.route('**/v1/realtime/**', (route) => route.fulfill({ status: 404 }));
  page.on('pageerror', (e) => problems.push(String(e)));
  page.on('console', (m) => m.type() === 'error' && !/40[14]/.test(m.text()) && problems.push(m.text()));
  await page.goto(`${process.env.BASE_URL}/#/talk`);
  const key = page.getByRole('dialog').locator('input').first();
  await key.fill(process.env.API_KEY);
  await key.press('Enter');
  await page.getByRole('button', { name: 'Begin to talk' }).click();
  await page.getByText(how).waitFor();
  const mine = page.locator('.turns li.mine p').first();
  await mine.waitFor({ timeout: 60000 });
  const reply = page.locator('.turns li:not(.mine)').filter({ hasText: 'ms in all' }).first();
  await reply.waitFor({ timeout: 60000 });
  console.log(`heard:   ${await mine.innerText()}`);
  console.log(`replied: ${(await reply.innerText()).replaceAll('\n', ' | ')}`);
  if (!/ms to the text.*ms to the first word.*ms to the first sound/.test(await reply.innerText())) throw new Error('not every leg is shown');
  await page.getByRole('button', { name: 'End' }).click();
  await page.getByRole('button', { name: 'Begin to talk' }).waitFor();
  if (await page.getByRole('alert').count()) throw new Error(await page.getByRole('alert').innerText());
  if (process.env.SHOT) await page.screenshot({ path: process.env.SHOT });
  if (problems.length) throw new Error(problems.join('\n'));
  console.log(`the view talks: ${how}`);
  await page.close();
}

try {
  await talk('Over one connection');
  await talk('plain HTTP');
} finally {
  await browser.close();
}
