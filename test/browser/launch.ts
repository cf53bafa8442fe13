/**
 * The launch of a browser: all that a test may try a second time. On a busy machine a browser now
 * and then does not start. A page that has loaded is never given a second try.
 */

/** Says on stderr that it tries again, and why. */
export const atMostTwice = <T>(launch: () => Promise<T>): Promise<T> =>
  launch().catch((reason) => {
    process.stderr.write(`A browser did not start, and is started once more: ${reason}\n`)
    return launch()
  })
