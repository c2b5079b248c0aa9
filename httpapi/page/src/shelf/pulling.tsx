import { useState } from 'preact/hooks'
import { ask } from '../ui/dialog'
import { Failed } from '../ui/failure'
import { bytes } from '../ui/format'
import * as icons from '../ui/icons'
import { say } from '../ui/notice'
import { discard, forget, pull, pulls, type Known } from './pulls'

// Pulling has models fetched, and shows how far those are that come.
export function Pulling({ here }: { here: () => void }) {
  const [name, set] = useState('')
  const start = (model: string) => pull(model).then((id) => id && (say(`${id} is here.`), here()))
  const submit = (e: Event) => {
    e.preventDefault()
    if (!name.trim()) return
    start(name)
    set('')
  }
  return (
    <section class="pulling" aria-label="Pull from the hub">
      <form onSubmit={submit}>
        <label class="field">
          Pull a model from the hub
          <span class="pull-field">
            <input value={name} placeholder="OWNER/NAME" autocomplete="off" autocapitalize="off" spellcheck={false} onInput={(e) => set(e.currentTarget.value)} />
            <button type="submit" class="primary" disabled={!name.trim()}>
              <icons.save />
              Pull
            </button>
          </span>
        </label>
        <p class="hint">As the Hugging Face hub names it; OWNER/NAME:Q4_K_M is one file of several. A pull ends when this page is closed; what has arrived is kept, and it goes on from there.</p>
      </form>
      <ul class="pulls">
        {pulls.value.map((p) => (
          <Row key={p.model} p={p} resume={() => start(p.model)} />
        ))}
      </ul>
    </section>
  )
}

const states: Record<Known['state'], string> = {
  starting: 'Asking the hub',
  waiting: 'Waiting for another program that pulls from there',
  downloading: 'Downloading',
  verifying: 'Verifying',
  done: 'Here',
  stopped: 'Stopped',
}

function Row({ p, resume }: { p: Known; resume: () => void }) {
  const [failure, fail] = useState<unknown>(null)
  const share = p.total > 0 ? p.completed / p.total : 0
  const left = p.speed && p.speed > 0 ? (p.total - p.completed) / p.speed : 0
  const throwAway = async () => {
    const sure =
      p.total === 0 || (await ask({ title: 'Throw away what has arrived?', text: `${bytes(p.completed)} of ${p.model} are on the server's disk. They would have to be fetched again.`, yes: 'Throw away', danger: true }))
    if (sure) discard(p).catch(fail)
  }
  const facts = [
    (p.total > 0 || !p.failure) && states[p.state],
    p.total > 0 && `${bytes(p.completed)} of ${bytes(p.total)}`,
    p.speed && `${bytes(Math.round(p.speed))}/s`,
    left > 1 && lasting(left),
    p.plan?.chosen && p.plan.quantization && `took ${p.plan.quantization}${p.plan.others.length ? '; there is also ' + p.plan.others.join(', ') : ''}`,
  ].filter(Boolean)
  return (
    <li class="pull" data-state={p.state}>
      <div class="pull-head">
        <strong dir="auto">{p.model}</strong>
        {p.total > 0 && <span class="number">{Math.floor(share * 100)} %</span>}
        <span class="spring" />
        {p.stop ? (
          <button type="button" onClick={p.stop} aria-label={`Stop pulling ${p.model}`}>
            <icons.stop />
            Stop
          </button>
        ) : p.state === 'stopped' ? (
          <>
            <button type="button" onClick={resume} aria-label={`Resume ${p.model}`}>
              <icons.again />
              {p.total > 0 ? 'Resume' : 'Try again'}
            </button>
            <button type="button" class="quiet" onClick={p.total > 0 ? throwAway : () => forget(p)} aria-label={`Throw away ${p.model}`} title="Throw away">
              <icons.trash />
            </button>
          </>
        ) : (
          <button type="button" onClick={resume} aria-label={`Follow ${p.model}`}>
            Follow
          </button>
        )}
      </div>
      {p.total > 0 && <progress value={share} max={1} aria-label={`Of ${p.model}`} />}
      {facts.length > 0 && <p class="hint">{facts.join(' · ')}</p>}
      {!!(failure ?? p.failure) && <Failed error={failure ?? p.failure} />}
    </li>
  )
}

function lasting(seconds: number): string {
  if (seconds < 90) return `${Math.ceil(seconds)} s left`
  if (seconds < 5400) return `${Math.ceil(seconds / 60)} min left`
  return `${(seconds / 3600).toFixed(1)} h left`
}
