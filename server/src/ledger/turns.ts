/** Work that is done one after another, in each of many lines. An empty line is forgotten. */

export type InTurn = <T>(line: string, work: () => Promise<T>) => Promise<T>

export function turns(): InTurn {
  /** The end of each line. */
  const ends = new Map<string, Promise<unknown>>()
  return (line, work) => {
    const done = (ends.get(line) ?? Promise.resolve()).then(work)
    const end = done
      .catch(() => {})
      .then(() => {
        if (ends.get(line) === end) ends.delete(line)
      })
    ends.set(line, end)
    return done
  }
}
