// bound ends this program when it is not done after so many seconds, or told to end, and says what
// it was doing: with it playwright ends the browsers it has started, and removes their profiles.
export function bound(seconds, doing = () => '') {
  const end = (why) => {
    console.error(`ended: ${why}`, doing())
    process.exit(1)
  }
  setTimeout(end, seconds * 1000, `not done after ${seconds} s`).unref()
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.once(signal, end)
}
