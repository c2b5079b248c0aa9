import { errorIn, Failure, gone } from './api'

// An Event of a stream: its name, "" where it has none, and its data.
export interface ServerEvent {
  event: string
  data: string
}

// events reads a stream of server-sent events until it ends. An error among them is
// thrown as a Failure, and so is a connection that breaks.
export async function* events(response: Response, signal?: AbortSignal): AsyncGenerator<ServerEvent> {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  let event = ''
  let data: string[] = []
  try {
    for (;;) {
      let read
      try {
        read = await reader.read()
      } catch (error) {
        signal?.throwIfAborted()
        throw gone(error)
      }
      if (read.done) return
      const lines = (rest + read.value).split(/\r\n|\n|\r(?!$)/)
      rest = lines.pop()!
      for (const line of lines) {
        if (line === '') {
          if (data.length) yield checked({ event, data: data.join('\n') })
          event = ''
          data = []
          continue
        }
        const [, field, value] = line.match(/^([^:]*):? ?(.*)$/s)!
        if (field === 'data') data.push(value)
        else if (field === 'event') event = value
      }
    }
  } finally {
    reader.cancel().catch(() => {})
  }
}

function checked(e: ServerEvent): ServerEvent {
  const failure = e.event === 'error' || e.data.startsWith('{"error"') ? errorIn(e.data) : null
  if (failure) throw failure
  return e
}

// values reads a stream whose events are JSON, up to "[DONE]". A stream that ends before
// was cut off.
export async function* values<T>(response: Response, signal?: AbortSignal): AsyncGenerator<T> {
  for await (const { data } of events(response, signal)) {
    if (data === '[DONE]') return
    yield JSON.parse(data) as T
  }
  signal?.throwIfAborted()
  throw new Failure('The server ended its answer early. See that quern serve runs, then try again.')
}
