import { useState } from 'preact/hooks'
import * as icons from './icons'
import { say } from './notice'

// copyText puts text on the clipboard. Pages on plain addresses have no clipboard of
// their own, but for what the user has selected.
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    const area = document.createElement('textarea')
    area.value = text
    area.className = 'unseen'
    document.body.append(area)
    area.select()
    const done = document.execCommand('copy')
    area.remove()
    return done
  }
}

// CopyButton copies what text returns when it is pressed.
export function CopyButton({ text, label = 'Copy' }: { text: () => string; label?: string }) {
  const [done, setDone] = useState(false)
  const copy = async () => {
    if (!(await copyText(text()))) return say('The browser did not allow copying. Select the text and copy it by hand.')
    setDone(true)
    setTimeout(() => setDone(false), 1500)
  }
  return (
    <button type="button" class="quiet" title={label} aria-label={label} onClick={copy}>
      {done ? <icons.check /> : <icons.copy />}
    </button>
  )
}
