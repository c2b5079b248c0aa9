import { useEffect, useRef, useState } from 'preact/hooks'
import { call, Failure, get, post } from '../api'
import { choose, models, refresh, type Kind, type Model } from '../models'
import { list } from '../shelf/pulls'
import { Opening, site } from '../shelf/opening'
import { Pulling } from '../shelf/pulling'
import { to } from '../router'
import { ask } from '../ui/dialog'
import { Failed } from '../ui/failure'
import { bytes, count } from '../ui/format'
import * as icons from '../ui/icons'
import { say } from '../ui/notice'

// A Detail is what GET /v1/models/ID says beyond the list.
interface Detail extends Model {
  memory?: { bytes: number; limit: number; fits: boolean; why?: string }
  removable: boolean
}

const kinds: Record<Kind, string> = { chat: 'Chat', completion: 'Text', embedding: 'Embeddings', rerank: 'Ranking', classification: 'Classes', speech: 'Speech', transcription: 'Listening' }
const places: Partial<Record<Kind, string>> = { chat: 'chat', speech: 'speak', transcription: 'listen' }

// every is how often the list is asked for while it is looked at.
const every = 4000

export default function Models() {
  const [failure, fail] = useState<unknown>(null)
  const [manage, setManage] = useState<boolean | null>(null) // null is not known yet
  const [details, setDetails] = useState<Record<string, Detail>>({})
  const asked = useRef(new Map<string, string>())
  const may = useRef(false)

  const load = async () => {
    try {
      const all = await refresh()
      if (may.current) await list()
      fail(null)
      // One after the other: the server works out what each needs.
      for (const m of all) {
        if (m.alias_of || asked.current.get(m.id) === m.status) continue
        asked.current.set(m.id, m.status)
        const d = await get<Detail>('v1/models/' + encodeURIComponent(m.id)).catch(() => null)
        if (d) setDetails((old) => ({ ...old, [m.id]: d }))
        else asked.current.delete(m.id)
      }
    } catch (error) {
      fail(error)
    }
  }
  useEffect(() => {
    load()
    get<{ manage: boolean }>('v1/server').then(
      (s) => {
        setManage((may.current = s.manage))
        if (s.manage) list().catch(() => {})
      },
      () => {},
    )
    const timer = setInterval(() => document.hidden || load(), every)
    return () => clearInterval(timer)
  }, [])

  const all = models.value?.filter((m) => !m.alias_of) ?? []
  const aliases = models.value?.filter((m) => m.alias_of) ?? []
  return (
    <div class="view view-models">
      <h1>Models</h1>
      <p class="lead">What this server has. A model is loaded when it is first asked for, and leaves when it has been idle.</p>
      {failure !== null && <Failed error={failure} retry={load} />}
      {site && <Opening from={site} here={load} />}
      {manage && <Pulling here={load} />}
      {models.value && (
        <ul class="shelf" aria-label="Models">
          {all.map((m) => (
            <Row key={m.id} m={m} detail={details[m.id]} changed={load} />
          ))}
        </ul>
      )}
      {aliases.length > 0 && (
        <p class="hint">
          Other names:{' '}
          {aliases.map((m) => `${m.id} is ${m.alias_of}`).join(', ')}.
        </p>
      )}
      {models.value && manage === false && (
        <p class="hint">Models are pulled and removed with quern pull and quern rm; the setting manage of the server lets this page do it.</p>
      )}
    </div>
  )
}

function Row({ m, detail, changed }: { m: Model & { in_use?: number; format?: string }; detail?: Detail; changed: () => void }) {
  const [busy, setBusy] = useState('')
  const [failure, fail] = useState<unknown>(null)
  const act = async (what: string, work: () => Promise<unknown>) => {
    setBusy(what)
    fail(null)
    try {
      await work()
    } catch (error) {
      fail(error)
    }
    setBusy('')
    changed()
  }
  const remove = async () => {
    if (!(await ask({ title: 'Remove this model?', text: `${m.id} is deleted from the server's disk${m.size_bytes ? `, which frees ${bytes(m.size_bytes)}` : ''}. It can be pulled again.`, yes: 'Remove', danger: true }))) return
    act('Removing', async () => {
      await call('v1/models/' + encodeURIComponent(m.id), { method: 'DELETE' })
      say(`${m.id} is removed.`)
    })
  }
  const memory = detail?.memory
  const loaded = m.status === 'loaded'
  const facts = [
    m.architecture,
    m.format && m.format !== m.architecture && m.format,
    m.quantization,
    m.size_bytes && bytes(m.size_bytes),
    m.context_length && `${count(m.context_length)} tokens of context`,
  ].filter(Boolean)
  const place = places[m.type]
  return (
    <li class="model" data-status={m.status}>
      <div class="model-head">
        <strong dir="auto">{m.id}</strong>
        <span class="badge">{kinds[m.type] ?? m.type}</span>
        <span class={`badge state ${m.status}`}>
          {busy || { loaded: 'Loaded', loading: 'Loading', failed: 'Failed', unloaded: 'Not loaded' }[m.status] || m.status}
          {m.in_use ? `, used by ${m.in_use}` : ''}
        </span>
      </div>
      <p class="hint">{facts.join(' · ')}</p>
      {memory && (
        <div class={memory.fits ? 'need' : 'need over'}>
          <meter min={0} max={memory.limit} value={Math.min(memory.bytes, memory.limit)} aria-label={`Memory of ${m.id}`} />
          <span>
            {loaded ? 'holds' : 'needs'} {bytes(memory.bytes)} of {bytes(memory.limit)} memory{memory.fits ? '' : ': does not fit'}
          </span>
        </div>
      )}
      {memory && !memory.fits && memory.why && <p class="why">{memory.why}</p>}
      {failure !== null && <Failed error={failure instanceof Failure ? failure : String(failure)} />}
      <div class="actions">
        {place && (
          <a class="button" href={to(place)} onClick={() => m.type === 'chat' && choose(m.id)}>
            {m.type === 'chat' ? 'Chat' : m.type === 'speech' ? 'Speak' : 'Listen'}
          </a>
        )}
        {loaded ? (
          <button type="button" disabled={!!busy} onClick={() => act('Unloading', () => post('v1/models/unload', { model: m.id }))}>
            Unload
          </button>
        ) : (
          <button type="button" disabled={!!busy || m.status === 'loading'} onClick={() => act('Loading', () => post('v1/models/load', { model: m.id }))}>
            Load
          </button>
        )}
        {detail?.removable && (
          <button type="button" class="quiet" disabled={!!busy} onClick={remove} aria-label={`Remove ${m.id}`} title="Remove">
            <icons.trash />
          </button>
        )}
      </div>
    </li>
  )
}
