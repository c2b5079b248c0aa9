import { useEffect, useState } from 'preact/hooks'
import { base, hasKey } from '../api'
import { last } from '../chat/last'
import { sampling } from '../chat/types'
import { current, models, refresh } from '../models'
import { CopyButton } from '../ui/copy'
import { Failed } from '../ui/failure'
import { configurations, programs, type Snippet, type Use } from '../use/snippets'

// What each kind of model is used for, in the order it is offered.
const purposes = { chat: 'Chat', completion: 'Continue a text', embedding: 'Embed', rerank: 'Rank', classification: 'Classify', speech: 'Speak', transcription: 'Transcribe' }

export default function UseIt() {
  const [failure, fail] = useState<unknown>(null)
  const [picked, pick] = useState('')
  const load = () => {
    fail(null)
    refresh().catch(fail)
  }
  useEffect(load, [])

  const all = models.value ?? []
  const model = all.find((m) => m.id === picked) ?? current.value ?? all[0]
  const use: Use | null = model ? { base: base + 'v1', key: hasKey(), model: model.id, kind: model.type, system: last.value.system ?? '', sampling: sampling(last.value) } : null
  return (
    <div class="view use">
      <h1>Use it</h1>
      <p class="lead">
        Any program that speaks to OpenAI can speak to this server. Its address is <code>{base}v1</code>.
      </p>
      {failure !== null && <Failed error={failure} retry={load} />}
      {use && (
        <>
          <label class="field">
            Model
            <select value={use.model} onChange={(e) => pick(e.currentTarget.value)}>
              {all.map((m) => (
                <option key={m.id} value={m.id}>
                  {m.id} · {purposes[m.type]}
                </option>
              ))}
            </select>
          </label>
          <Tabs label="Programs" snippets={programs(use)} />
          <h2>In other programs</h2>
          <Tabs label="Configurations" snippets={configurations(use)} />
          {use.key && <p class="hint">The examples leave your key out: set it as QUERN_API_KEY, or put it in for YOUR_KEY.</p>}
        </>
      )}
    </div>
  )
}

// Tabs show one snippet at a time; arrow keys go from one to the next.
function Tabs({ label, snippets }: { label: string; snippets: Snippet[] }) {
  const [at, set] = useState(0)
  const i = Math.min(at, snippets.length - 1)
  const id = (what: string, n: number) => `${label}-${what}-${n}`
  const key = (e: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key]
    if (!step) return
    const n = (i + step + snippets.length) % snippets.length
    set(n)
    document.getElementById(id('tab', n))!.focus()
  }
  const s = snippets[i]
  return (
    <section class="tabs" aria-label={label}>
      <div class="tab-row">
        <div role="tablist" aria-label={label} onKeyDown={key}>
          {snippets.map((snippet, n) => (
            <button
              key={snippet.title}
              type="button"
              role="tab"
              id={id('tab', n)}
              aria-selected={n === i}
              aria-controls={id('panel', i)}
              tabIndex={n === i ? 0 : -1}
              onClick={() => set(n)}
            >
              {snippet.title}
            </button>
          ))}
        </div>
        <CopyButton text={() => s.text} label={`Copy ${s.title}`} />
      </div>
      <div role="tabpanel" id={id('panel', i)} aria-labelledby={id('tab', i)}>
        {s.note && <p class="hint">{s.note}</p>}
        <pre dir="ltr" tabIndex={0}>
          <code>{s.text}</code>
        </pre>
      </div>
    </section>
  )
}
