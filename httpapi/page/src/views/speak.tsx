import { useEffect, useRef, useState } from 'preact/hooks'
import { refresh } from '../models'
import { send } from '../api'
import { forget, keep, spoken, type Spoken } from '../sound/history'
import { Reading } from '../sound/read'
import { Feed, mime, speak } from '../sound/speak'
import { mixture, refreshVoices, Voices, voices, type Share } from '../sound/voices'
import { decode, Wave, type Decoded } from '../sound/wave'
import { clock, type Word } from '../sound/words'
import { Failed } from '../ui/failure'
import { download } from '../ui/files'
import { seconds } from '../ui/format'
import * as icons from '../ui/icons'
import { recall, remember } from '../ui/memory'
import { say } from '../ui/notice'

// The forms speech is saved in: MP3 is here, the others are made anew.
const forms = ['mp3', 'm4a', 'wav', 'flac', 'opus']

const first = 'The mill turns slowly, and the flour falls like snow. What shall we bake today?'

export default function Speak() {
  const [failure, fail] = useState<unknown>(null)
  const [text, setText] = useState(recall('speak.text') ?? first)
  const [shares, setShares] = useState<Share[]>([])
  const [speed, setSpeed] = useState(1)
  const [busy, setBusy] = useState(false)
  const [words, setWords] = useState<Word[]>([])
  const [now, setNow] = useState<Spoken | null>(null)
  const [url, setURL] = useState('')
  const [picture, setPicture] = useState<Decoded | null>(null)
  const [past, setPast] = useState<Spoken[]>([])
  const [media, setMedia] = useState<HTMLAudioElement | null>(null)
  const [took, setTook] = useState(0)
  const [making, setMaking] = useState('')
  const work = useRef<AbortController | null>(null)
  const urls = useRef<string[]>([])

  const load = () => {
    fail(null)
    refresh().catch(() => {})
    refreshVoices().catch(fail)
  }
  useEffect(() => {
    load()
    spoken().then(setPast)
    return () => {
      work.current?.abort()
      urls.current.forEach((u) => URL.revokeObjectURL(u))
    }
  }, [])
  useEffect(() => {
    const all = voices.value
    if (shares.length || !all?.length) return
    const had = recall('speak.voice')
    setShares([{ voice: (all.find((v) => v.id === had) ?? all.find((v) => !v.alias_of) ?? all[0]).id, weight: 5 }])
  }, [voices.value])

  const play = (next: string) => {
    urls.current.push(next)
    setURL(next)
  }
  const show = (s: Spoken) => {
    work.current?.abort()
    setNow(s)
    setWords(s.words)
    setPicture(null)
    setTook(0)
    decode(s.sound).then(setPicture)
    play(URL.createObjectURL(s.sound))
  }

  const start = async (e: Event) => {
    e.preventDefault()
    if (!text.trim() || !shares.length) return
    work.current?.abort()
    const mine = (work.current = new AbortController())
    const order = { text, voice: mixture(shares), speed }
    remember('speak.text', text)
    remember('speak.voice', shares[0].voice)
    fail(null)
    setBusy(true)
    setNow(null)
    setWords([])
    setPicture(null)
    setTook(0)
    const began = performance.now()
    const feed = Feed.possible() ? new Feed() : null
    if (feed) play(feed.url)
    const pieces: Uint8Array<ArrayBuffer>[] = []
    let last: Word[] = []
    try {
      for await (const part of speak(order, mine.signal)) {
        if (!pieces.length && part.sound.length) setTook(performance.now() - began)
        pieces.push(part.sound)
        feed?.add(part.sound)
        if (part.words !== last) setWords((last = part.words))
      }
      feed?.end()
      const made: Spoken = { id: crypto.randomUUID?.() ?? String(Date.now()), at: Date.now(), text, voice: order.voice, speed, sound: new Blob(pieces, { type: mime }), words: last }
      setNow(made)
      if (!feed) play(URL.createObjectURL(made.sound))
      decode(made.sound).then(setPicture)
      if (!(await keep(made))) say('The browser keeps no history for this page: save what you want to keep.')
      setPast(await spoken())
    } catch (error) {
      feed?.end()
      if (!mine.signal.aborted) fail(error)
    } finally {
      if (work.current === mine) setBusy(false)
    }
  }

  const save = async (form: string) => {
    if (!now) return
    const name = (now.text.trim().split(/\s+/).slice(0, 5).join(' ').replace(/[\\/:*?"<>|.\u0000-\u001f]/g, '') || 'speech') + '.' + form
    if (form === 'mp3') return download(now.sound, name)
    setMaking(form)
    try {
      const r = await send('v1/audio/speech', { input: now.text, voice: now.voice, speed: now.speed, response_format: form })
      download(await r.blob(), name)
    } catch (error) {
      fail(error)
    }
    setMaking('')
  }
  const remove = async (s: Spoken) => {
    await forget(s.id)
    setPast(await spoken())
  }

  return (
    <div class="view sound speak">
      <h1>Speak</h1>
      <p class="lead">A text, spoken while it is made. Press a word to hear it from there.</p>
      <form onSubmit={start}>
        <label class="field">
          Text
          <textarea rows={5} dir="auto" value={text} onInput={(e) => setText(e.currentTarget.value)} onKeyDown={(e) => e.key === 'Enter' && (e.ctrlKey || e.metaKey) && start(e)} />
        </label>
        <div class="choices">
          <Voices shares={shares} set={setShares} />
          <label class="field">
            Speed <span class="number">{speed.toFixed(2)}</span>
            <input type="range" min={0.5} max={2} step={0.05} value={speed} onInput={(e) => setSpeed(Number(e.currentTarget.value))} />
          </label>
        </div>
        <div class="actions">
          {busy ? (
            <button type="button" onClick={() => (work.current?.abort(), media?.pause(), setBusy(false))}>
              <icons.stop />
              Stop
            </button>
          ) : (
            <button type="submit" class="primary" disabled={!text.trim() || !shares.length}>
              <icons.speak />
              Speak
            </button>
          )}
          <span class="hint" role="status">
            {busy && took === 0 ? 'The first words are being made…' : took > 0 ? `first sound after ${seconds(took)}` : ''}
          </span>
        </div>
      </form>
      {failure !== null && <Failed error={failure} retry={load} />}
      {url && (
        <section class="heard" aria-label="Speech">
          <Wave sound={picture} media={media} />
          <audio controls autoplay src={url} ref={setMedia} />
          <Reading words={words} media={media} />
          {now && (
            <div class="actions" role="group" aria-label="Save the speech">
              {forms.map((f) => (
                <button key={f} type="button" disabled={!!making} onClick={() => save(f)}>
                  <icons.save />
                  {making === f ? 'making…' : f}
                </button>
              ))}
            </div>
          )}
        </section>
      )}
      {past.length > 0 && (
        <section class="past">
          <h2>Spoken before</h2>
          <ul>
            {past.map((s) => (
              <li key={s.id}>
                <button type="button" class="entry" onClick={() => show(s)}>
                  <span dir="auto">{s.text}</span>
                  <small>
                    {s.voice} · {s.words.length ? clock(s.words.at(-1)!.end) : ''} · {new Date(s.at).toLocaleString()}
                  </small>
                </button>
                <button type="button" class="quiet" title="Remove" aria-label={`Remove “${s.text.slice(0, 40)}”`} onClick={() => remove(s)}>
                  <icons.trash />
                </button>
              </li>
            ))}
          </ul>
        </section>
      )}
    </div>
  )
}
