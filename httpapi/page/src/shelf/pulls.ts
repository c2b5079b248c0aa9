import { signal } from '@preact/signals'
import { call, Failure, get, send } from '../api'
import { events } from '../sse'

// A Pull is how far a model is that comes from the hub.
export interface Pull {
  model: string
  state: 'starting' | 'waiting' | 'downloading' | 'verifying' | 'done' | 'stopped'
  completed: number
  total: number
  file?: string
  id?: string
  note?: string
  plan?: { quantization?: string; chosen: boolean; others: string[]; download_bytes: number }
}

// A Known pull is one that the page shows: it may be followed here, or have failed here.
export interface Known extends Pull {
  speed?: number // bytes a second
  failure?: unknown
  stop?: () => void // while this page follows it
}

// pulls are those the server has, and those that were asked for here. They go on while other
// views are shown; they end with the page.
export const pulls = signal<Known[]>([])

const put = (p: Known, instead = p.model) => {
  const rest = pulls.value.filter((x) => x.model !== p.model && x.model !== instead)
  pulls.value = [...rest, p].sort((a, b) => a.model.localeCompare(b.model))
}
const drop = (model: string) => (pulls.value = pulls.value.filter((x) => x.model !== model))

// list asks the server which pulls there are. What is followed here is known better.
export async function list() {
  const { data } = await get<{ data: Pull[] }>('v1/pulls')
  const here = pulls.value.filter((p) => p.stop || p.failure)
  pulls.value = [...here, ...data.filter((p) => !here.some((h) => h.model === p.model))].sort((a, b) => a.model.localeCompare(b.model))
}

// pull has a model fetched, or joins who fetches it, and returns what the model is called
// here; "" when it was stopped.
export async function pull(name: string): Promise<string> {
  let key = name.trim().replace(/^hub:/, '')
  const known = pulls.value.find((p) => p.model === key)
  if (known?.stop) return ''
  const end = new AbortController()
  // Whoever else follows the pull is told that it was stopped.
  const stop = () => call('v1/pulls/' + encodeURIComponent(key), { method: 'DELETE' }).then(() => {}, () => {}).finally(() => end.abort())
  const follow = (p: Pull, speed?: number) => {
    put({ ...p, speed, stop }, key)
    key = p.model
  }
  follow(known ? { ...known, state: 'starting' } : { model: key, state: 'starting', completed: 0, total: 0 })
  const past: { at: number; completed: number }[] = []
  let plan: Pull['plan']
  try {
    const response = await send('v1/models/pull', { model: key, stream: true }, end.signal)
    for await (const { data } of events(response, end.signal)) {
      const p = JSON.parse(data) as Pull & { type: string }
      plan = p.plan ?? plan
      if (p.type === 'model.pull.done') {
        if (p.note) put({ ...p, failure: new Failure(p.note) }, key)
        else drop(key)
        return p.id ?? ''
      }
      past.push({ at: performance.now(), completed: p.completed })
      if (past.length > 50) past.shift()
      const took = past.at(-1)!.at - past[0].at
      follow({ ...p, plan }, p.state === 'downloading' && took > 500 ? ((p.completed - past[0].completed) / took) * 1000 : undefined)
    }
    throw new Failure('The connection to the server ended before the model was here. What has arrived is kept: resume the pull.')
  } catch (error) {
    const last = pulls.value.find((p) => p.model === key)
    const had = last && last.total > 0
    if (end.signal.aborted || (error instanceof Failure && error.code === 'pull_stopped')) {
      if (had) put({ ...last, state: 'stopped', stop: undefined, speed: undefined })
      else drop(key)
      return ''
    }
    put({ ...(last ?? { model: key, completed: 0, total: 0 }), state: 'stopped', stop: undefined, speed: undefined, failure: error })
    return ''
  }
}

// discard throws away what a pull has left.
export async function discard(p: Known) {
  if (p.total > 0) {
    try {
      await call('v1/pulls/' + encodeURIComponent(p.model) + '?discard=true', { method: 'DELETE' })
    } catch (error) {
      if (!(error instanceof Failure && error.status === 404)) throw error
    }
  }
  drop(p.model)
}

// forget takes a pull from the page that has nothing at the server.
export const forget = (p: Known) => drop(p.model)
