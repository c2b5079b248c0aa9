import { useState } from 'preact/hooks'
import { choose, ofKind, refresh, type Model } from '../models'
import { Dialog } from '../ui/dialog'
import { Failed } from '../ui/failure'
import { bytes, count } from '../ui/format'
import * as icons from '../ui/icons'
import { modelOf } from './run'
import type { Chat } from './state'

// Picker shows which model answers, and lets the user take another.
export function Picker({ chat }: { chat: Chat }) {
  const [open, setOpen] = useState(false)
  const [failure, fail] = useState<unknown>(null)
  const model = modelOf(chat.conversation.value.settings)
  const show = () => {
    setOpen(true)
    fail(null)
    refresh().catch(fail)
  }
  const pick = async (m: Model) => {
    choose(m.id)
    await chat.setSettings({ ...chat.conversation.value.settings, model: m.id })
    setOpen(false)
  }
  const all = ofKind('chat')
  return (
    <>
      <button type="button" class="picker" aria-haspopup="dialog" onClick={show}>
        <span class="name" dir="auto">
          {model?.id ?? 'No model'}
        </span>
        <icons.down />
      </button>
      {open && (
        <Dialog title="Model" close={() => setOpen(false)}>
          {failure !== null && <Failed error={failure} retry={show} />}
          {!all.length && failure === null && <p>The server has no model that chats. Serve one: quern serve --model FILE.</p>}
          <ul class="models">
            {all.map((m) => (
              <li key={m.id}>
                <button type="button" aria-pressed={m.id === model?.id} onClick={() => pick(m)}>
                  <span class="name" dir="auto">
                    {m.id}
                  </span>
                  <span class="facts">{facts(m)}</span>
                  <span class="tags">
                    {m.capabilities.map((c) => (
                      <span key={c}>{c}</span>
                    ))}
                  </span>
                </button>
              </li>
            ))}
          </ul>
        </Dialog>
      )}
    </>
  )
}

const facts = (m: Model) =>
  [
    m.context_length && `${count(m.context_length)} tokens of context`,
    m.quantization,
    m.size_bytes && bytes(m.size_bytes),
    m.alias_of && `is ${m.alias_of}`,
    m.status === 'loaded' && 'in memory',
  ]
    .filter(Boolean)
    .join(' · ')
