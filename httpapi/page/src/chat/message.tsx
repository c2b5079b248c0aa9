import type { Signal } from '@preact/signals'
import { useEffect, useRef, useState } from 'preact/hooks'
import { Failure } from '../api'
import { CopyButton } from '../ui/copy'
import { Failed } from '../ui/failure'
import { count, rate, seconds } from '../ui/format'
import * as icons from '../ui/icons'
import { Prose } from './prose'
import { answer, ask, reply } from './run'
import type { Chat } from './state'
import type { Call, Message } from './types'

interface Props {
  chat: Chat
  m: Message
  last: boolean
  grows: Signal<number> | null // while this tab writes it
  drawn: () => void
}

// Shown is a message with what can be done with it.
export function Shown(props: Props) {
  const { chat, m } = props
  const [editing, edit] = useState(false)
  if (m.role === 'tool') return null // it stands with its call
  const said = m.role === 'user' ? 'You' : (m.model ?? 'Model')
  return (
    <article class={`message ${m.role}`} aria-label={said} aria-busy={props.grows ? 'true' : undefined}>
      {m.role === 'assistant' ? <Answered {...props} /> : editing ? <Edit chat={chat} m={m} close={() => edit(false)} /> : <Said m={m} />}
      {!editing && !props.grows && (
        <div class="acts">
          <Siblings chat={chat} m={m} />
          <CopyButton text={() => m.text} label="Copy text" />
          {m.role === 'user' && (
            <button type="button" class="quiet" title="Edit" aria-label="Edit" disabled={chat.run.value !== null} onClick={() => edit(true)}>
              <icons.edit />
            </button>
          )}
          {m.role === 'assistant' && (
            <button type="button" class="quiet" title="Answer again" aria-label="Answer again" disabled={chat.run.value !== null} onClick={() => reply(chat, m.parent)}>
              <icons.again />
            </button>
          )}
          <Measured m={m} />
        </div>
      )}
    </article>
  )
}

function Said({ m }: { m: Message }) {
  return (
    <div class="bubble">
      {m.files?.map((f, i) => (
        <details key={i} class="file">
          <summary dir="auto">
            <icons.file /> {f.name}
          </summary>
          <pre dir="auto" tabIndex={0}>
            {f.text}
          </pre>
        </details>
      ))}
      {m.text && (
        <p class="plain" dir="auto">
          {m.text}
        </p>
      )}
    </div>
  )
}

function Answered({ chat, m, last, grows, drawn }: Props) {
  void grows?.value // what is there besides text changes rarely, and is little
  const thinks = grows !== null && !m.text && !m.calls?.length
  return (
    <>
      {m.thinking && (
        <details class="thinking">
          <summary>{thinks ? 'Thinking…' : 'Thought'}</summary>
          <Prose text={() => m.thinking ?? ''} grows={grows} drawn={drawn} />
        </details>
      )}
      {(m.text || grows) && <Prose text={() => m.text} grows={grows} drawn={drawn} />}
      {thinks && !m.thinking && <p class="waiting">Waiting for the first word</p>}
      {m.calls?.length ? <Calls chat={chat} m={m} last={last} done={!grows} /> : null}
      {m.state === 'writing' && !grows && <p class="hint">Another tab is writing this.</p>}
      {m.state === 'length' && <p class="hint">The answer reached its longest length. Ask it to go on, or raise “most tokens” in the settings.</p>}
      {m.state === 'stopped' && <p class="hint">Stopped.</p>}
      {m.state === 'failed' && m.error && (
        <Failed error={new Failure(m.error.message, 0, m.error.code)} retry={chat.run.value ? undefined : () => reply(chat, m.parent)} />
      )}
    </>
  )
}

// Calls are what a model wants called, and what came of it.
function Calls({ chat, m, last, done }: { chat: Chat; m: Message; last: boolean; done: boolean }) {
  const results = new Map(chat.path().filter((o) => o.role === 'tool').map((o) => [o.call, o.text]))
  const [given, give] = useState<Record<string, string>>({})
  const [sent, setSent] = useState(false)
  const open = last && done && chat.run.value === null && !sent
  const calls = m.calls ?? []
  const submit = (e: Event) => {
    e.preventDefault()
    setSent(true)
    answer(chat, m.id, calls.map((c) => ({ call: c.id, text: given[c.id] ?? '' })))
  }
  return (
    <form class="calls" onSubmit={submit}>
      {calls.map((c, i) => (
        <div class="call" key={c.id || i}>
          <p class="call-name">
            <icons.tool /> <code dir="auto">{c.name}</code>
          </p>
          <pre dir="auto" tabIndex={0}>
            {pretty(c)}
          </pre>
          {results.has(c.id) && (
            <pre class="result" dir="auto" tabIndex={0} aria-label="Result">
              {results.get(c.id)}
            </pre>
          )}
          {open && (
            <label class="field">
              What it returned
              <textarea rows={2} value={given[c.id] ?? ''} onInput={(e) => give({ ...given, [c.id]: e.currentTarget.value })} />
            </label>
          )}
        </div>
      ))}
      {open && (
        <button type="submit" class="primary">
          Go on with {calls.length === 1 ? 'this result' : 'these results'}
        </button>
      )}
    </form>
  )
}

function pretty(c: Call): string {
  try {
    return JSON.stringify(JSON.parse(c.arguments), null, 2)
  } catch {
    return c.arguments // not all there, or no JSON
  }
}

// Edit says something else in the place of m: what was said before stays beside it.
function Edit({ chat, m, close }: { chat: Chat; m: Message; close: () => void }) {
  const [text, set] = useState(m.text)
  const [sending, setSending] = useState(false)
  const area = useRef<HTMLTextAreaElement>(null)
  useEffect(() => area.current!.focus(), [])
  const submit = (e: Event) => {
    e.preventDefault()
    if (sending || (!text.trim() && !m.files?.length)) return
    setSending(true)
    ask(chat, m.parent, text, m.files ?? [], close)
  }
  const key = (e: KeyboardEvent) => {
    if (e.key === 'Escape') close()
    if (e.key === 'Enter' && !e.shiftKey && !e.isComposing) submit(e)
  }
  return (
    <form class="edit" onSubmit={submit}>
      <textarea value={text} dir="auto" ref={area} aria-label="Edit message" onInput={(e) => set(e.currentTarget.value)} onKeyDown={key} />
      <div>
        <button type="button" onClick={close}>
          Cancel
        </button>
        <button type="submit" class="primary">
          Send
        </button>
      </div>
    </form>
  )
}

// Siblings go from one branch of the conversation to the next.
function Siblings({ chat, m }: { chat: Chat; m: Message }) {
  const all = chat.tree.value.siblings(m)
  const at = all.findIndex((o) => o.id === m.id)
  if (all.length < 2) return null
  return (
    <span class="siblings" role="group" aria-label="Branches">
      <button type="button" class="quiet" aria-label="Branch before" disabled={at === 0} onClick={() => chat.show(all[at - 1])}>
        <icons.left />
      </button>
      <span>
        {at + 1} / {all.length}
      </span>
      <button type="button" class="quiet" aria-label="Next branch" disabled={at === all.length - 1} onClick={() => chat.show(all[at + 1])}>
        <icons.right />
      </button>
    </span>
  )
}

function Measured({ m }: { m: Message }) {
  const s = m.stats
  if (!s) return null
  return (
    <span class="measured">
      {count(s.completion)} {s.completion === 1 ? 'token' : 'tokens'}
      {s.rate > 0 && <> · {rate(s.rate)} a second</>} · first after {seconds(s.first)}
    </span>
  )
}
