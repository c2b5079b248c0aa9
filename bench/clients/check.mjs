// What the scripts share: checks with names. BASE_URL and API_KEY say where the server is.
import assert from 'node:assert/strict';

export { assert };
export const MODEL = process.env.CHAT_MODEL ?? 'quern-tiny';
export const BASE = (process.env.BASE_URL ?? 'http://127.0.0.1:8080') + '/v1';
export const KEY = process.env.API_KEY ?? 'none';

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
  if (failure) failed++; else passed++;
  console.log(failure ? `FAIL ${name}: ${says}` : `PASS ${name}`);
  if (failure) console.log(failure.stack);
}

// done ends a script.
export function done() {
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
