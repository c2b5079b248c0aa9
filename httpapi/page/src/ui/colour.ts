// colour is what a colour of the stylesheet is now, for a canvas.
export function colour(name: string): string {
  const probe = document.createElement('i')
  probe.style.color = `var(--${name})`
  document.body.append(probe)
  const c = getComputedStyle(probe).color
  probe.remove()
  return c
}

// rgb are the parts of such a colour, 0 to 255.
export function rgb(c: string): number[] {
  const canvas = document.createElement('canvas')
  canvas.width = canvas.height = 1
  const g = canvas.getContext('2d')!
  g.fillStyle = c
  g.fillRect(0, 0, 1, 1)
  return [...g.getImageData(0, 0, 1, 1).data].slice(0, 3)
}
