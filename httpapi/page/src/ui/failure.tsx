import { Failure } from '../api'

// sentence is what an error says to the user.
export const sentence = (error: unknown) =>
  error instanceof Error ? error.message : String(error)

interface Props {
  error: unknown
  retry?: () => void
  label?: string // of the button
}

// Failed shows an error in the API's own words, with a way to try again.
export function Failed({ error, retry, label = 'Try again' }: Props) {
  const code = error instanceof Failure ? error.code : ''
  return (
    <div class="failed" role="alert">
      <p dir="auto">
        {sentence(error)} {code && <code>{code}</code>}
      </p>
      {retry && (
        <button type="button" onClick={retry}>
          {label}
        </button>
      )}
    </div>
  )
}
