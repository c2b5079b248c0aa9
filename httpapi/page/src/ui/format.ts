// Numbers as people read them, in the language of the page.
const whole = new Intl.NumberFormat('en')
const short = new Intl.NumberFormat('en', { maximumSignificantDigits: 3 })

export const count = (n: number) => whole.format(n)
export const rate = (n: number) => short.format(n)

export function bytes(n: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB']
  let i = 0
  while (n >= 1000 && i < units.length - 1) {
    n /= 1000
    i++
  }
  return `${short.format(n)} ${units[i]}`
}

export const seconds = (ms: number) => (ms < 1000 ? `${Math.round(ms)} ms` : `${short.format(ms / 1000)} s`)
