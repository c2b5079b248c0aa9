// What the scripts share: checks with names, some of which may not pass yet.
//
// BASE_URL and API_KEY say where the server is. A check that is listed in NOT_YET, a name a
// line, has to fail; one that passes is to be taken off that list.
import assert from 'node:assert/strict';

export { assert };
export const MODEL = process.env.CHAT_MODEL ?? 'quern-tiny';
export const BASE = (process.env.BASE_URL ?? 'http://127.0.0.1:8080') + '/v1';
export const KEY = process.env.API_KEY ?? 'none';

const notYet = new Set((process.env.NOT_YET ?? '').split('\n').filter(Boolean));
const limit = Number(process.env.TEST_TIMEOUT_MS ?? 120000);
const named = new Set();
let passed = 0;
let failed = 0;

// check runs one check. What it throws is its failure.
export async function check(name, run) {
  assert(!named.has(name), `two checks are called "${name}"`);
  named.add(name);
  let failure;
  let timer;
  const late = new Promise((_, reject) => { timer = setTimeout(() => reject(new Error(`no end after ${limit} ms`)), limit); });
  try {
    await Promise.race([run(), late]);
  } catch (err) {
    failure = err instanceof Error ? err : new Error(String(err));
  } finally {
    clearTimeout(timer);
  }
  const says = failure && failure.message.replace(/\s+/g, ' ').slice(0, 400);
  if (!notYet.has(name)) {
    if (failure) failed++; else passed++;
    console.log(failure ? `FAIL ${name}: ${says}` : `PASS ${name}`);
    if (failure) console.log(failure.stack);
  } else if (failure) {
    console.log(`NOT YET ${name}: ${says}`);
  } else {
    failed++;
    console.log(`FAIL ${name}: it passes, so it is to be taken off the list of what does not yet`);
  }
}

// done ends a script, whose checks have names that begin with prefix.
export function done(prefix) {
  for (const name of notYet) {
    if (!name.startsWith(prefix) || named.has(name)) continue;
    failed++;
    console.log(`FAIL no check is called "${name}"`);
  }
  console.log(`${passed} passed, ${failed} failed`);
  process.exit(failed ? 1 : 0);
}

// The tools that the built-in model was taught to call, and what they answer.
export const weather = {
  name: 'get_weather',
  description: 'Current weather in a city',
  run: ({ city }) => ({ city, celsius: 21 }),
};
export const add = {
  name: 'add',
  description: 'Add two numbers',
  run: ({ a, b }) => ({ result: a + b }),
};
