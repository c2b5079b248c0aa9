import { computed, signal } from '@preact/signals'

// The address is #/VIEW/REST…: the hash never reaches the server, and a folder of files
// can serve the page.
const read = () => location.hash.replace(/^#\/?/, '').split('/').map(unescape)

const hash = signal(read())
addEventListener('hashchange', () => (hash.value = read()))

// place is where the user is: the id of a view, and what the view makes of the rest.
export const place = computed(() => ({ view: hash.value[0] ?? '', rest: hash.value.slice(1) }))

// to is the address of a place, for links.
export const to = (view: string, ...rest: string[]) => '#/' + [view, ...rest].map(encodeURIComponent).join('/')

// go changes the place; replace leaves no step to come back to.
export function go(address: string, replace = false) {
  if (replace) history.replaceState(null, '', address)
  else history.pushState(null, '', address)
  hash.value = read()
}

function unescape(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
