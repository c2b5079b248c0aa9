import { signal } from '@preact/signals'
import { get } from '../api'

export interface Voice {
  id: string
  name: string
  language?: string
  gender?: string
  description?: string
  alias_of?: string
  model: string
}

export const voices = signal<Voice[] | null>(null)

export async function refreshVoices() {
  voices.value = (await get<{ voices: Voice[] }>('v1/audio/voices')).voices
}

// A Share is a voice of a mixture, and how much of it.
export interface Share {
  voice: string
  weight: number
}

// mixture spells shares as the API reads them.
export const mixture = (shares: Share[]) => (shares.length === 1 ? shares[0].voice : shares.map((s) => `${s.voice}(${s.weight})`).join('+'))

// Voices chooses a voice, or several of one model that are mixed.
export function Voices({ shares, set }: { shares: Share[]; set: (s: Share[]) => void }) {
  const all = (voices.value ?? []).filter((v) => !v.alias_of)
  const model = all.find((v) => v.id === shares[0]?.voice)?.model
  const fellows = all.filter((v) => v.model === model)
  const free = fellows.filter((v) => !shares.some((s) => s.voice === v.id))
  const change = (i: number, s: Share) => set(i === 0 && all.find((v) => v.id === s.voice)?.model !== model ? [s] : shares.map((old, n) => (n === i ? s : old)))
  return (
    <div class="voices" role="group" aria-label="Voice">
      {shares.map((s, i) => (
        <div class="share" key={i}>
          <label class="field">
            {i === 0 ? 'Voice' : 'with'}
            <select value={s.voice} onChange={(e) => change(i, { ...s, voice: e.currentTarget.value })}>
              {(i === 0 ? all : fellows).map((v) => (
                <option key={v.id} value={v.id}>
                  {[v.name === v.id ? v.id : `${v.name} (${v.id})`, v.description ?? v.language].filter(Boolean).join(' · ')}
                </option>
              ))}
            </select>
          </label>
          {shares.length > 1 && (
            <>
              <label class="field weight">
                <span class="unseen">How much of {s.voice}</span>
                <input type="range" min={1} max={10} value={s.weight} onInput={(e) => change(i, { ...s, weight: Number(e.currentTarget.value) })} />
              </label>
              <button type="button" class="link" onClick={() => set(shares.filter((_, n) => n !== i))} aria-label={`Leave ${s.voice} out`}>
                leave out
              </button>
            </>
          )}
        </div>
      ))}
      {shares.length > 0 && shares.length < 4 && free.length > 0 && (
        <button type="button" class="link" onClick={() => set([...shares, { voice: free[0].id, weight: shares[0].weight }])}>
          Mix in another voice
        </button>
      )}
    </div>
  )
}
