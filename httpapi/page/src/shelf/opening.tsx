import { useState } from 'preact/hooks'
import { Failed } from '../ui/failure'
import { pickFiles } from '../ui/files'
import * as icons from '../ui/icons'
import { say } from '../ui/notice'

// A Site is what pages are given where quern runs in the browser (cmd/quern-wasm/web/loader.js).
// Its promises come to a model's name, or fail with a sentence.
interface Site {
  open: (files: File[]) => Promise<string>
  fetch: (url: string, sha256?: string) => Promise<string>
}

export const site = (globalThis as { quern?: Site }).quern

// told says what a failure of the browser's own means; those of quern are sentences.
function told(error: unknown, host = 'the address'): Error {
  const message = error instanceof Error ? error.message : String(error)
  if (/^(Failed to fetch|NetworkError|Load failed|network error)/i.test(message)) {
    return new Error(`${host} cannot be reached, breaks off, or lets no page of another site fetch from it (CORS). Try again; or download the file and open it from the disk.`)
  }
  if (/ENOSPC|quota/i.test(message)) return new Error('The browser has no room left for this model. Remove a model, or free space on the disk, and fetch it again.')
  if (/EBUSY/.test(message)) return new Error('This file is being fetched or used already. Wait until that has ended.')
  if (/EIO|could not be read/.test(message)) return new Error('The file can no longer be read: it was moved or changed after it was chosen. Choose it again.')
  return new Error(message)
}

// Opening serves a model of the user's disk, or of an address.
export function Opening({ here, from }: { here: () => void; from: Site }) {
  const [busy, setBusy] = useState('')
  const [failure, fail] = useState<unknown>(null)
  const [address, setAddress] = useState('')
  const [sum, setSum] = useState('')

  const take = async (what: string, work: () => Promise<string>, host?: string) => {
    setBusy(what)
    fail(null)
    try {
      say(`${await work()} is here.`)
      setAddress('')
      setSum('')
    } catch (error) {
      fail(told(error, host))
    }
    setBusy('')
    here()
  }
  const pick = async (folder: boolean) => {
    const files = await pickFiles(folder ? '' : '.gguf,.bin,.onnx,.pth,.safetensors', false, folder)
    if (files.length) take(`Opening ${folder ? files[0].webkitRelativePath.split('/')[0] : files[0].name}…`, () => from.open(files))
  }
  const submit = (e: Event) => {
    e.preventDefault()
    const url = new URL(address.trim()) // the field takes nothing else
    take(`Fetching ${url.pathname.split('/').pop()}…`, () => from.fetch(url.href, sum.trim() || undefined), url.host)
  }
  return (
    <section class="pulling" aria-label="Open a model">
      <div class="opening">
        <strong>Open a model of this computer</strong>
        <span class="spring" />
        <button type="button" class="primary" disabled={!!busy} onClick={() => pick(false)}>
          <icons.open />
          Choose a file
        </button>
        <button type="button" disabled={!!busy} onClick={() => pick(true)}>
          <icons.open />
          Choose a folder
        </button>
      </div>
      <p class="hint">A GGUF file, or a folder of ONNX, Whisper, Kokoro or SafeTensors. It is read where it lies, stays on this computer, and is forgotten when the page is closed.</p>
      <form class="fetching" onSubmit={submit}>
        <label class="field">
          Or fetch a GGUF file from an address
          <input type="url" required pattern="https?://.+" value={address} placeholder="https://…/model-Q4_K_M.gguf" autocomplete="off" spellcheck={false} onInput={(e) => setAddress(e.currentTarget.value)} />
        </label>
        <label class="field">
          Its SHA-256, to be sure and to go on where a fetch broke off
          <input value={sum} placeholder="Optional" pattern="\s*[0-9a-fA-F]{64}\s*" title="64 digits of 0 to 9 and a to f" autocomplete="off" spellcheck={false} onInput={(e) => setSum(e.currentTarget.value)} />
        </label>
        <button type="submit" disabled={!!busy || !address.trim()}>
          <icons.save />
          Fetch
        </button>
      </form>
      <p class="hint" role="status">
        {busy}
      </p>
      {failure !== null && <Failed error={failure} />}
    </section>
  )
}
