import { useEffect, useRef, useState } from 'preact/hooks'
import { models, ofKind, refresh } from '../models'
import { to } from '../router'
import { listen, type Transcript } from '../sound/listen'
import { record, type Recording } from '../sound/record'
import { Reading } from '../sound/read'
import { decode, Wave, type Decoded } from '../sound/wave'
import { captions, clock, spread } from '../sound/words'
import { CopyButton } from '../ui/copy'
import { Failed } from '../ui/failure'
import { download, pickFiles } from '../ui/files'
import * as icons from '../ui/icons'

interface Heard {
  sound: Blob
  name: string
  url: string
}

export default function Listen() {
  const [failure, fail] = useState<unknown>(null)
  const [again, setAgain] = useState<(() => void) | null>(null)
  const [model, setModel] = useState('')
  const [language, setLanguage] = useState('')
  const [translate, setTranslate] = useState(false)
  const [prompt, setPrompt] = useState('')
  const [heard, setHeard] = useState<Heard | null>(null)
  const [picture, setPicture] = useState<Decoded | null>(null)
  const [text, setText] = useState<Transcript | null>(null)
  const [busy, setBusy] = useState(false)
  const [editing, edit] = useState(false)
  const [recording, setRecording] = useState<Recording | null>(null)
  const [over, setOver] = useState(false)
  const [media, setMedia] = useState<HTMLAudioElement | null>(null)
  const [mute, setMute] = useState(false)
  const work = useRef<AbortController | null>(null)
  const mic = useRef<Recording | null>(null)
  const left = useRef(false) // the view

  const load = () => {
    fail(null)
    refresh().catch(fail)
  }
  useEffect(() => {
    load()
    return () => {
      left.current = true
      work.current?.abort()
      mic.current?.cancel()
    }
  }, [])
  useEffect(() => () => void (heard && URL.revokeObjectURL(heard.url)), [heard])

  const ears = ofKind('transcription').filter((m) => !m.alias_of)
  const ear = ears.find((m) => m.id === model) ?? ears[0]

  const transcribe = async (sound: Blob, name: string) => {
    if (!ear) return
    work.current?.abort()
    const mine = (work.current = new AbortController())
    fail(null)
    edit(false)
    setText(null)
    setBusy(true)
    try {
      for await (const t of listen(sound, name, { model: ear.id, language, translate, prompt }, mine.signal)) setText(t)
    } catch (error) {
      if (!mine.signal.aborted) {
        fail(error)
        setAgain(() => () => transcribe(sound, name))
      }
    } finally {
      if (work.current === mine) setBusy(false)
    }
  }
  const take = (sound: Blob, name: string) => {
    setHeard({ sound, name, url: URL.createObjectURL(sound) })
    setMute(false)
    setPicture(null)
    decode(sound).then(setPicture)
    transcribe(sound, name)
  }
  const pick = async () => {
    const [file] = await pickFiles('audio/*,video/mp4,video/webm,.mka,.opus,.oga')
    if (file) take(file, file.name)
  }
  const toggle = async () => {
    fail(null)
    if (recording) {
      mic.current = null
      setRecording(null)
      const sound = await recording.stop()
      take(sound, 'recording' + (sound.type.includes('mp4') ? '.mp4' : '.webm'))
      return
    }
    try {
      const begun = await record()
      if (left.current) return begun.cancel()
      setRecording((mic.current = begun))
    } catch (error) {
      fail(error)
      setAgain(() => toggle)
    }
  }
  const change = (i: number, value: string) => {
    if (!text) return
    const segments = text.segments.map((s, n) => (n === i && s.text !== value ? { ...s, text: value, words: spread(value, s.start, s.end) } : s))
    setText({ ...text, segments })
  }
  const stem = (heard?.name ?? 'transcript').replace(/\.[^.]*$/, '')

  return (
    <div class="view sound listen">
      <h1>Listen</h1>
      <p class="lead">What is said in a recording, written down with the time of every word.</p>
      {models.value && !ear && (
        <p class="empty">
          The server has no model that listens. <a href={to('models')}>Pull one</a>, for example <code>ggerganov/whisper.cpp/ggml-base.bin</code>.
        </p>
      )}
      {ear && (
        <>
          <div class="choices">
            <label class="field">
              Model
              <select value={ear?.id} onChange={(e) => setModel(e.currentTarget.value)}>
                {ears.map((m) => (
                  <option key={m.id}>{m.id}</option>
                ))}
              </select>
            </label>
            <label class="field">
              Language
              <input value={language} placeholder="Detected" disabled={translate} onInput={(e) => setLanguage(e.currentTarget.value)} />
            </label>
            <label class="field">
              Task
              <select value={translate ? 'translate' : 'transcribe'} onChange={(e) => setTranslate(e.currentTarget.value === 'translate')}>
                <option value="transcribe">Transcribe</option>
                <option value="translate">Translate to English</option>
              </select>
            </label>
            <label class="field wide">
              Names and words to expect
              <input value={prompt} placeholder="Optional" onInput={(e) => setPrompt(e.currentTarget.value)} />
            </label>
          </div>
          <div
            class={over ? 'drop over' : 'drop'}
            onDragOver={(e) => (e.preventDefault(), setOver(true))}
            onDragLeave={() => setOver(false)}
            onDrop={(e) => {
              e.preventDefault()
              setOver(false)
              const file = e.dataTransfer?.files[0]
              if (file) take(file, file.name)
            }}
          >
            <button type="button" class="primary" onClick={toggle}>
              {recording ? <icons.stop /> : <icons.talk />}
              {recording ? 'Stop recording' : 'Record'}
            </button>
            <button type="button" onClick={pick} disabled={!!recording}>
              <icons.open />
              Choose a file
            </button>
            <span class="hint">{recording ? 'Listening…' : 'or drop one here'}</span>
          </div>
        </>
      )}
      {failure !== null && <Failed error={failure} retry={again ?? load} />}
      {heard && (
        <section class="heard" aria-label="Transcript">
          <div class="heard-head">
            <strong dir="auto">{heard.name}</strong>
            <span class="hint" role="status">
              {busy ? 'Listening…' : text?.done ? [text.language && text.language[0].toUpperCase() + text.language.slice(1), `${text.segments.length} segment${text.segments.length === 1 ? '' : 's'}`].filter(Boolean).join(' · ') : ''}
            </span>
            <span class="heard-acts">
              {busy && (
                <button type="button" onClick={() => work.current?.abort()}>
                  <icons.stop />
                  Stop
                </button>
              )}
              {!busy && (
                <button type="button" class="quiet" title="Listen again" aria-label="Listen again" onClick={() => transcribe(heard.sound, heard.name)}>
                  <icons.again />
                </button>
              )}
              {text && !busy && (
                <>
                  <button type="button" aria-pressed={editing} onClick={() => edit(!editing)}>
                    {editing ? <icons.check /> : <icons.edit />}
                    {editing ? 'Done' : 'Edit'}
                  </button>
                  <CopyButton text={() => captions.txt.write(text.segments)} label="Copy the text" />
                </>
              )}
            </span>
          </div>
          <Wave sound={picture} media={media} />
          <audio controls src={heard.url} ref={setMedia} onError={() => setMute(true)} />
          {mute && <p class="hint">This browser cannot play {heard.name}.{text?.done && ' The text is complete all the same.'}</p>}
          <ol class="segments">
            {text?.segments.map((s, i) => (
              <li key={i}>
                <button type="button" class="time link" onClick={() => media && ((media.currentTime = s.start), media.play().catch(() => {}))}>
                  {clock(s.start)}
                </button>
                {editing ? (
                  <textarea aria-label={`Text at ${clock(s.start)}`} dir="auto" rows={Math.max(1, Math.ceil(s.text.length / 70))} value={s.text} onInput={(e) => change(i, e.currentTarget.value)} />
                ) : (
                  <Reading words={s.words} media={media} />
                )}
              </li>
            ))}
          </ol>
          {text?.done && text.segments.length === 0 && <p class="hint">Nothing was said in it.</p>}
          {text && text.segments.length > 0 && (
            <div class="actions" role="group" aria-label="Save the transcript">
              {Object.entries(captions).map(([ending, c]) => (
                <button key={ending} type="button" onClick={() => download(new Blob([c.write(text.segments)], { type: c.mime }), `${stem}.${ending}`)}>
                  <icons.save />
                  {ending}
                </button>
              ))}
            </div>
          )}
        </section>
      )}
    </div>
  )
}
