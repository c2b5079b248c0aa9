import { useEffect, useState } from 'preact/hooks'
import { Dialog } from '../ui/dialog'
import * as db from './db'
import { wrongTools } from './run'
import type { Chat } from './state'
import type { Preset, Settings } from './types'

// numbers are the sampling settings, with what the API takes; unset is what holds where they are empty, if not what the model has.
const numbers: { name: keyof Settings; label: string; hint: string; unset?: string; min: number; max?: number; step: number | 'any' }[] = [
  { name: 'temperature', label: 'Temperature', hint: '0 takes the likeliest word, 2 is wild', min: 0, max: 2, step: 0.05 },
  { name: 'top_p', label: 'Top p', hint: 'the likeliest words up to this share', min: 0, max: 1, step: 0.01 },
  { name: 'top_k', label: 'Top k', hint: 'so many of the likeliest; 0 is all', min: 0, step: 1 },
  { name: 'min_p', label: 'Min p', hint: 'at least this share of the likeliest', min: 0, max: 1, step: 0.01 },
  { name: 'repeat_penalty', label: 'Repeat penalty', hint: '1 is none', min: 0.01, step: 'any' },
  { name: 'max_tokens', label: 'Most tokens', hint: 'of one answer', unset: 'no bound', min: 1, step: 1 },
  { name: 'seed', label: 'Seed', hint: 'the same gives the same answer', unset: 'random', min: 0, step: 1 },
]

// SettingsDialog is how the model answers in one conversation.
export function SettingsDialog({ chat, close }: { chat: Chat; close: () => void }) {
  const [s, set] = useState<Settings>({ ...chat.conversation.value.settings })
  const [presets, setPresets] = useState<Preset[]>([])
  const [name, setName] = useState('')
  useEffect(() => void db.presets().then(setPresets), [])

  const wrong = wrongTools(s.tools ?? '')
  const change = (field: keyof Settings, value: string | number | undefined) => {
    const next = { ...s, [field]: value }
    if (value === undefined || value === '') delete next[field]
    set(next)
  }
  const submit = async (e: Event) => {
    e.preventDefault()
    if (wrong) return
    await chat.setSettings(s)
    close()
  }
  const savePreset = async () => {
    const { model: _, ...settings } = s
    await db.savePreset({ name: name.trim(), settings })
    setPresets(await db.presets())
    setName('')
  }
  const apply = ({ settings }: Preset) => set({ ...settings, ...(s.model && { model: s.model }) })

  return (
    <Dialog title="Settings of this conversation" close={close} wide>
      <form onSubmit={submit} class="settings">
        <label class="field">
          System prompt
          <textarea rows={4} dir="auto" value={s.system ?? ''} placeholder="Who the model is, and how it answers" onInput={(e) => change('system', e.currentTarget.value)} />
        </label>
        <fieldset>
          <legend>Sampling</legend>
          {numbers.map((n) => (
            <label key={n.name} class="field">
              {n.label}
              <input
                type="number"
                min={n.min}
                max={n.max}
                step={n.step}
                value={s[n.name] ?? ''}
                placeholder={n.unset ?? 'as the model has it'}
                aria-describedby={'about-' + n.name}
                onInput={(e) => change(n.name, e.currentTarget.value === '' ? undefined : e.currentTarget.valueAsNumber)}
              />
              <span class="hint" id={'about-' + n.name}>
                {n.hint}
              </span>
            </label>
          ))}
        </fieldset>
        <details open={Boolean(s.tools)}>
          <summary>Tools</summary>
          <label class="field">
            Functions the model may call, as JSON
            <textarea rows={5} class="mono" dir="ltr" spellcheck={false} value={s.tools ?? ''} placeholder='[{"type": "function", "function": {"name": "weather", "parameters": {}}}]' onInput={(e) => change('tools', e.currentTarget.value)} />
          </label>
          {wrong && (
            <p class="wrong" role="alert">
              {wrong}
            </p>
          )}
          <p class="hint">The page shows what the model wants called; you say what it returned.</p>
        </details>
        <details>
          <summary>Presets</summary>
          <ul class="presets">
            {presets.map((p) => (
              <li key={p.name}>
                <button type="button" dir="auto" onClick={() => apply(p)}>
                  {p.name}
                </button>
                <button type="button" class="link" onClick={async () => (await db.removePreset(p.name), setPresets(await db.presets()))}>
                  Remove<span class="unseen"> {p.name}</span>
                </button>
              </li>
            ))}
          </ul>
          <div class="new-preset">
            <label class="field">
              Name
              <input value={name} dir="auto" maxLength={60} onInput={(e) => setName(e.currentTarget.value)} />
            </label>
            <button type="button" disabled={!name.trim()} onClick={savePreset}>
              Save as preset
            </button>
          </div>
        </details>
        <footer>
          <button type="button" onClick={() => set(s.model ? { model: s.model } : {})}>
            Clear
          </button>
          <button type="submit" class="primary" disabled={wrong !== ''}>
            Use these
          </button>
        </footer>
      </form>
    </Dialog>
  )
}
