import { useEffect, useRef, useState } from 'preact/hooks'
import { get } from '../api'
import { current, models, ofKind, refresh } from '../models'
import { to } from '../router'
import { converse } from '../sound/talk'
import type { Timings } from '../sound/transport'
import { Failed } from '../ui/failure'
import * as icons from '../ui/icons'

interface Turn {
  id: string
  mine: boolean
  text: string
  timings?: Timings
}

// legs are what the times of a turn are called.
const legs: [keyof Timings, string][] = [
  ['transcription_ms', 'to the text'],
  ['first_token_ms', 'to the first word'],
  ['first_audio_ms', 'to the first sound'],
  ['turn_ms', 'in all'],
]

const states = { off: '', opening: 'Opening…', listening: 'Listening…', hearing: 'You speak…', answering: 'Answering…' }

export default function Talk() {
  const [failure, fail] = useState<unknown>(null)
  const [state, setState] = useState<keyof typeof states>('off')
  const [turns, setTurns] = useState<Turn[]>([])
  const [voices, setVoices] = useState<string[]>([])
  const [voice, setVoice] = useState('')
  const [model, setModel] = useState('')
  const [ear, setEar] = useState('')
  const [way, setWay] = useState('')
  const talk = useRef<AbortController | null>(null)
  const list = useRef<HTMLOListElement>(null)

  const load = () => {
    fail(null)
    refresh()
      .then(() => get<{ voices: { id: string; alias_of?: string }[] }>('v1/audio/voices'))
      .then(({ voices }) => setVoices(voices.filter((v) => !v.alias_of).map((v) => v.id)))
      .catch(fail)
  }
  useEffect(() => {
    load()
    return () => talk.current?.abort()
  }, [])

  // What is said last is shown.
  useEffect(() => list.current?.lastElementChild?.scrollIntoView({ block: 'nearest' }), [turns])

  const ears = ofKind('transcription').filter((m) => !m.alias_of)
  const chats = ofKind('chat').filter((m) => !m.alias_of)
  const listens = ears.find((m) => m.id === ear) ?? ears[0]
  const answers = chats.find((m) => m.id === model) ?? current.value
  const on = state !== 'off'

  // change gives a turn, which may be new, another text.
  const change = (id: string, mine: boolean, text: (before: string) => string) =>
    setTurns((all) => (all.some((t) => t.id === id) ? all.map((t) => (t.id === id ? { ...t, text: text(t.text) } : t)) : [...all, { id, mine, text: text('') }]))

  const stop = () => {
    talk.current?.abort()
    talk.current = null
    setState('off')
  }
  const start = async () => {
    if (!listens || !answers) return
    const mine = new AbortController()
    talk.current = mine
    fail(null)
    setTurns([])
    setWay('')
    setState('opening')
    const lost = (error: unknown) => {
      if (talk.current !== mine) return
      fail(error)
      stop()
    }
    try {
      const instructions = 'You are in a spoken conversation. Answer in a few short sentences, without lists and markup.'
      const why = await converse({ model: answers.id, ear: listens.id, voice, instructions }, {
        state: (to) => {
          if (talk.current === mine) setState(to)
          if (to === 'hearing') fail(null)
        },
        heard: (id, text) => change(id, true, () => text),
        said: (id, more) => change(id, false, (before) => before + more),
        done: (timings) => setTurns((all) => all.map((t, i) => (i === all.length - 1 && !t.mine ? { ...t, timings } : t))),
        fail,
        lost,
      }, mine.signal)
      setWay(why ? `${why}: each turn is sent by plain HTTP, and this page hears where it ends.` : 'Over one connection, /v1/realtime: the server hears where a turn ends.')
    } catch (error) {
      lost(error)
    }
  }

  return (
    <div class={on ? 'view sound talk on' : 'view sound talk'}>
      <h1>Talk</h1>
      <p class="lead">A conversation without hands: speak, be answered, and interrupt when you like.</p>
      {models.value && !listens && (
        <p class="empty">
          The server has no model that listens. <a href={to('models')}>Pull one</a>, for example <code>ggerganov/whisper.cpp/ggml-base.bin</code>.
        </p>
      )}
      {listens && (
        <>
          <div class="choices">
            <label class="field">
              Answers
              <select value={answers?.id} disabled={on} onChange={(e) => setModel(e.currentTarget.value)}>
                {chats.map((m) => (
                  <option key={m.id}>{m.id}</option>
                ))}
              </select>
            </label>
            <label class="field">
              Listens
              <select value={listens?.id} disabled={on} onChange={(e) => setEar(e.currentTarget.value)}>
                {ears.map((m) => (
                  <option key={m.id}>{m.id}</option>
                ))}
              </select>
            </label>
            <label class="field">
              Voice
              <select value={voice} disabled={on} onChange={(e) => setVoice(e.currentTarget.value)}>
                <option value="">The usual one</option>
                {voices.map((v) => (
                  <option key={v}>{v}</option>
                ))}
              </select>
            </label>
          </div>
          <div class="drop">
            <button type="button" class="primary" disabled={!answers} onClick={on ? stop : start}>
              {on ? <icons.stop /> : <icons.talk />}
              {on ? 'End' : 'Begin to talk'}
            </button>
            <span class="hint" role="status">
              {states[state]}
            </span>
          </div>
          {!answers && <p class="hint">The server has no model that chats. Pull one in Models.</p>}
          {way && on && <p class="hint">{way}</p>}
        </>
      )}
      {failure !== null && <Failed error={failure} retry={!listens ? load : on ? undefined : start} />}
      <ol class="turns" aria-live="polite" ref={list}>
        {turns.map((t) => (
          <li key={t.id} class={t.mine ? 'mine' : ''}>
            <strong>{t.mine ? 'You' : 'Reply'}</strong>
            <p dir="auto">{t.text || '…'}</p>
            {t.timings && (
              <p class="hint">
                {legs
                  .filter(([name]) => t.timings?.[name] !== undefined)
                  .map(([name, label]) => `${Math.round(t.timings![name]!)}\u00a0ms ${label}`)
                  .join(' · ')}
              </p>
            )}
          </li>
        ))}
      </ol>
    </div>
  )
}
