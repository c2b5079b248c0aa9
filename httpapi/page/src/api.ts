import { signal } from '@preact/signals'
import { recall, remember } from './ui/memory'

// base is the folder that serves the page; the API is beside it.
export const base = new URL('.', document.baseURI).href

// A Failure is why a request came to nothing, in a sentence that says what to do.
export class Failure extends Error {
  constructor(
    message: string,
    readonly status = 0, // 0 is no answer
    readonly code = '',
    readonly param = '',
  ) {
    super(message)
  }
}

// Keys are sent with every request. They are kept for the tab, or for good where the user
// says so.
const key = signal(recall('key', 'session') ?? recall('key') ?? '')

export const hasKey = () => key.value !== ''

export function setKey(value: string, keep: boolean) {
  key.value = value
  remember('key', value && !keep ? value : null, 'session')
  remember('key', value && keep ? value : null)
}

// wanted is set while requests wait for a key.
export const wanted = signal<{ wrong: boolean; done: (given: boolean) => void } | null>(null)
let asking: Promise<boolean> | null = null

// askKey shows one dialog, however many requests need it.
function askKey(wrong: boolean): Promise<boolean> {
  asking ??= new Promise<boolean>((done) => (wanted.value = { wrong, done })).finally(() => {
    asking = null
    wanted.value = null
  })
  return asking
}

// call asks the API. It throws a Failure for everything but success, and whatever the
// signal was aborted with. Where a key is needed it waits for the user to give one.
export async function call(path: string, init: RequestInit = {}): Promise<Response> {
  for (;;) {
    const used = key.value
    const headers = new Headers(init.headers)
    if (used) headers.set('Authorization', 'Bearer ' + used)
    let response
    try {
      response = await fetch(base + path, { ...init, headers })
    } catch (error) {
      init.signal?.throwIfAborted()
      throw gone(error)
    }
    if (response.ok) return response
    const failure = await failureOf(response)
    if (failure.status !== 401) throw failure
    if (used === key.value && !(await askKey(used !== ''))) throw failure
    init.signal?.throwIfAborted()
  }
}

export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return (await call(path, { signal })).json()
}

export async function post<T>(path: string, body: unknown, signal?: AbortSignal): Promise<T> {
  return (await send(path, body, signal)).json()
}

// send posts JSON, or a form.
export function send(path: string, body: unknown, signal?: AbortSignal): Promise<Response> {
  if (body instanceof FormData) return call(path, { method: 'POST', body, signal })
  return call(path, { method: 'POST', body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' }, signal })
}

// gone is the failure of a connection that could not be made, or broke.
export function gone(cause: unknown): Failure {
  if (cause instanceof Failure) return cause
  return new Failure(`The server at ${new URL(base).host} does not answer. See that quern serve runs there, then try again.`)
}

async function failureOf(response: Response): Promise<Failure> {
  const text = await response.text().catch(() => '')
  return errorIn(text, response.status) ?? new Failure(`The server answered ${response.status} ${response.statusText}. Try again, or look into its log.`, response.status)
}

// errorIn reads an error of the API, as answers and events of streams have it.
export function errorIn(text: string, status = 0): Failure | null {
  try {
    const { error, detail } = JSON.parse(text)
    const said = error ?? detail
    if (typeof said?.message !== 'string') return null
    return new Failure(said.message, status, String(said.code ?? said.status ?? ''), String(said.param ?? ''))
  } catch {
    return null
  }
}
