/** Is the page on the machine of who develops it? Another project may have the same address. */
export const isLocal = (url: string): boolean =>
  /^https?:\/\/(localhost|127(\.\d+){3}|\[::1\])(:|\/|$)/.test(url)
