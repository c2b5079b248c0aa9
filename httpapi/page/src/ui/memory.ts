// Small things that are kept for the user in localStorage, or for as long as the tab lives
// in sessionStorage. A browser that keeps nothing is no failure: they are asked again.

type Where = 'local' | 'session'
const storage = (where: Where) => (where === 'local' ? localStorage : sessionStorage)

export function recall(name: string, where: Where = 'local'): string | null {
  try {
    return storage(where).getItem('quern.' + name)
  } catch {
    return null
  }
}

// remember keeps value, or forgets it when it is null.
export function remember(name: string, value: string | null, where: Where = 'local') {
  try {
    if (value === null) storage(where).removeItem('quern.' + name)
    else storage(where).setItem('quern.' + name, value)
  } catch {
    // Storage is full or forbidden.
  }
}
