/** Is the page on its developer's machine? Another project may have the same address there. */
export const isLocal = (url: string): boolean =>
  /^https?:\/\/(localhost|127(\.\d+){3}|\[::1\])(:|\/|$)/.test(url)
