import { signal } from '@preact/signals'

const notice = signal('')
let timer = 0

// say shows a sentence for some seconds; it is read aloud where the page is.
export function say(text: string) {
  notice.value = text
  clearTimeout(timer)
  timer = setTimeout(() => (notice.value = ''), 5000)
}

// Notices shows what say says; the shell has one.
export function Notices() {
  return (
    <div class="notices" role="status">
      {notice.value && <p dir="auto">{notice.value}</p>}
    </div>
  )
}
