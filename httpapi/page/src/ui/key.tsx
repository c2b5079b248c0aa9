import { useState } from 'preact/hooks'
import { setKey, wanted } from '../api'
import { Dialog } from './dialog'

// KeyDialog asks for the API key while requests wait for one.
export function KeyDialog() {
  const asked = wanted.value
  return asked && <KeyForm {...asked} />
}

function KeyForm({ wrong, done }: { wrong: boolean; done: (given: boolean) => void }) {
  const [key, set] = useState('')
  const [keep, setKeep] = useState(false)
  const submit = (e: Event) => {
    e.preventDefault()
    if (!key.trim()) return
    setKey(key.trim(), keep)
    done(true)
  }
  return (
    <Dialog title="This server asks for a key" close={() => done(false)}>
      <form onSubmit={submit}>
        {wrong && (
          <p class="wrong" role="alert">
            The server did not accept that key. Check it and enter it again.
          </p>
        )}
        <label class="field">
          API key
          <input type="password" value={key} autocomplete="off" autofocus onInput={(e) => set(e.currentTarget.value)} />
        </label>
        <label class="tick">
          <input type="checkbox" checked={keep} onChange={(e) => setKeep(e.currentTarget.checked)} />
          Remember it on this device
        </label>
        <p class="hint">Otherwise this tab forgets it when it is closed. Keys are in the server's configuration, or in QUERN_API_KEY.</p>
        <footer>
          <button type="submit" class="primary" disabled={!key.trim()}>
            Use this key
          </button>
        </footer>
      </form>
    </Dialog>
  )
}
