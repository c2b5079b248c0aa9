// A Recording is what the microphone hears until it is stopped.
export interface Recording {
  stop: () => Promise<Blob>
  cancel: () => void
}

// microphone opens the microphone. It throws an Error that says what to do; instead is
// what else may be done.
export async function microphone(instead: string): Promise<MediaStream> {
  if (!navigator.mediaDevices?.getUserMedia || typeof MediaRecorder === 'undefined') {
    throw new Error(`Browsers give the microphone to pages of this machine or with https only. Open the page by http://localhost, or put a server with https before it; ${instead}.`)
  }
  try {
    return await navigator.mediaDevices.getUserMedia({ audio: true })
  } catch (error) {
    const name = error instanceof DOMException ? error.name : ''
    if (name === 'NotFoundError') throw new Error(`No microphone was found. Plug one in and try again; ${instead}.`)
    throw new Error(`The browser did not give the microphone to this page. Allow it in the settings of the site beside the address, and try again; ${instead}.`)
  }
}

// record begins to listen to the microphone. It throws an Error that says what to do.
export async function record(): Promise<Recording> {
  const stream = await microphone('files can be dropped in any case')
  const recorder = new MediaRecorder(stream)
  const pieces: Blob[] = []
  recorder.ondataavailable = (e) => pieces.push(e.data)
  recorder.start(1000)
  const end = () => stream.getTracks().forEach((t) => t.stop())
  return {
    stop: () =>
      new Promise((resolve) => {
        recorder.onstop = () => {
          end()
          resolve(new Blob(pieces, { type: recorder.mimeType }))
        }
        recorder.stop()
      }),
    cancel: () => {
      recorder.onstop = null
      if (recorder.state !== 'inactive') recorder.stop()
      end()
    },
  }
}
